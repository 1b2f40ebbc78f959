"""The known-answer programs of the matrix: the CUDA examples on a GPU, mock_cuda_app and its driver in CI. Both print what
the profile must say. This module converts their output to common keys, {key: number}: see examples/cuda/expect.h."""

import json
import os
import re
import subprocess
import sys

import rig

EXAMPLES = os.path.join(rig.SOURCE, "examples")
PROCESS_TREE = os.path.join(EXAMPLES, "python", "process_tree.py")
TORCH_STEP = os.path.join(EXAMPLES, "python", "torch_step.py")


def expected_lines(stdout):
    return {key: int(value) for key, value in re.findall(r"^expect (.+)=(-?\d+)$", stdout, re.MULTILINE)}


class Program:
    def __init__(self, command, expectations=expected_lines, env=None):
        self.command, self.expectations, self.env = command, expectations, env or {}


def process_tree(way, fills=100, pause_ms=0):
    return Program([sys.executable, PROCESS_TREE, way, "--fills", str(fills), "--pause-ms", str(pause_ms)])


class Gpu:
    """A machine with an NVIDIA GPU; `examples` is the folder of the built CUDA examples."""

    name = "gpu"
    env = {}

    def __init__(self, examples):
        self.examples = os.path.abspath(examples)

    def program(self, name):
        return os.path.join(self.examples, name)

    def missing(self):
        names = ("example_cuda", "bench_cuda_launch_loop", "example_cuda_graphs", "example_cuda_streams",
                 "example_cuda_variants", "example_cuda_modules", "example_cuda_conditional",
                 "example_cuda_device_launches")
        absent = [name for name in names if not os.path.exists(self.program(name))]
        return f"not in {self.examples}: {', '.join(absent)}" if absent else None

    def devices(self):
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
        return listed.count("GPU ")

    def torch(self):
        """Returns a Python whose PyTorch sees the GPU, or None."""
        probe = ["python3", "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"]
        return "python3" if subprocess.run(probe, capture_output=True, check=False).returncode == 0 else None

    # All sites launch equally often; solve's kernel takes four times as long.
    def sites(self, launches=300, steps=2000):
        def expectations(stdout):
            result = {}
            for site, kernel, count in re.findall(r"expected (\w+) (\w+) (\d+)", stdout):
                if kernel in ("light", "heavy"):
                    result[f"site.{site}"] = int(count)
                else:
                    result[f"op.{kernel}"] = int(count)
            result["records"] = result["launches"] = sum(result.values())
            return result

        return Program([self.program("example_cuda"), "--launches", str(launches), "--steps", str(steps)], expectations)

    def variants(self, launches=50):
        return Program([self.program("example_cuda_variants"), "--launches", str(launches)])

    def streams(self, streams=8, kernels=50, devices=1):
        return Program([self.program("example_cuda_streams"), "--streams", str(streams), "--kernels", str(kernels),
                        "--devices", str(devices)])

    # With `go`, the program waits before the replays, so that a test can attach. On a GPU it waits for 6 s. On the mock it
    # waits until the file `go` exists.
    def graphs(self, nodes=10, added=3, replays=100, child=True, go=None):
        return Program([self.program("example_cuda_graphs"), "--nodes", str(nodes), "--added", str(added), "--replays",
                        str(replays), "--child", str(int(child)), "--wait-ms", "6000" if go else "0"])

    def endless_graphs(self):
        return self.graphs(replays=1000000000)

    def modules(self, rounds=4):
        return Program([self.program("example_cuda_modules"), "--rounds", str(rounds)])

    def conditional(self, rounds=20):
        return Program([self.program("example_cuda_conditional"), "--rounds", str(rounds)])

    def device_launches(self, launches=10):
        return Program([self.program("example_cuda_device_launches"), "--launches", str(launches)])

    # Launches from the site `launch_tiny` without pauses.
    def loop(self, launches):
        return Program([self.program("bench_cuda_launch_loop"), "--launches", str(launches), "--batches", "1",
                        "--warmup", "1"],
                       lambda _: {"records": launches + 1, "launches": launches + 1,
                                  "site.launch_tiny": launches + 1})

    # Makes many launches of short kernels; two of the sites launch equally often.
    def many(self):
        return self.sites(300000, steps=100)

    # Launches for longer than any test, and prints as it goes on.
    def endless(self):
        return Program([self.program("bench_cuda_launch_loop"), "--launches", "20000", "--batches", "1000000",
                        "--each"], lambda _: {})

    loop_site = "launch_tiny"
    even_sites = ("assemble", "postprocess")  # they launch the same kernel equally often
    even_kernel = "light"


class Mock:
    """The mock driver and CUPTI of test/mocks in the folder `mocks`, and mock_cuda_app."""

    name = "mock"

    def __init__(self, app, mocks, programs):
        self.app, self.mocks, self.programs = os.path.abspath(app), os.path.abspath(mocks), os.path.abspath(programs)
        self.env = {"LD_LIBRARY_PATH": self.mocks}

    def missing(self):
        absent = [path for path in (self.app, self.programs) if not os.path.exists(path)]
        return f"no {', '.join(absent)}" if absent else None

    def devices(self):
        return 2

    def torch(self):
        return None

    @staticmethod
    def expectations(stdout):
        """Parses the output of mock_cuda_app: one line of JSON per process."""
        result = {"records": 0, "launches": 0, "captured_launches": 0, "failed_launches": 0}
        for line in stdout.splitlines():
            if not line.startswith("{"):
                continue
            did = json.loads(line)
            result["records"] += did["total_ops"]
            result["launches"] += did["launches"]
            result["captured_launches"] += did["captured"]
            result["failed_launches"] += did["failed"]
            for op, entry in did["host"].items():
                result[f"host.{op}"] = result.get(f"host.{op}", 0) + entry["count"]
                result[f"host_bytes.{op}"] = result.get(f"host_bytes.{op}", 0) + entry["bytes"]
            for name, op in did["ops"].items():
                kernel = re.fullmatch(r"_Z\d+([a-z_]+?)(P.*|v)", name)
                key = f"kernel.{kernel.group(1)}" if kernel else f"op.{name}"
                result[key] = result.get(key, 0) + op["count"]
        return result

    def run(self, *arguments):
        return Program([self.app, *map(str, arguments)], self.expectations)

    def sites(self, launches=300, gap_us=0):
        program = self.run("--launches", launches, "--kernels-only", "--gap-us", gap_us)
        program.expectations = lambda stdout: {
            **self.expectations(stdout), **{f"site.{site}": launches for site in ("assemble", "solve", "postprocess")}}
        return program

    def variants(self, launches=50):
        return Program([self.programs, "variants", str(launches)])

    def streams(self, streams=8, kernels=50, devices=1):
        return Program([self.programs, "streams", str(streams), str(kernels), str(devices)])

    def graphs(self, nodes=10, added=3, replays=100, go=None, **_):
        return Program([self.programs, "graphs", str(nodes), str(added), str(replays), *([go] if go else [])])

    def endless_graphs(self):
        return self.run("--graph-nodes", 4, "--graph-replays", 100000000, "--gap-us", 500)

    def modules(self, rounds=4):
        return Program([self.programs, "modules", str(rounds)])

    def conditional(self, rounds=20):
        return Program([self.programs, "conditional", str(rounds)])

    def device_launches(self, launches=10):
        return Program([self.programs, "device_launches", str(launches)])

    def loop(self, launches):
        return self.run("--launches", launches // 3, "--kernels-only")

    # Runs for several seconds, because --max-overhead is checked once a second.
    def many(self):
        return self.sites(40000, gap_us=50)

    def endless(self):
        return self.run("--launches", 100000000, "--kernels-only", "--gap-us", 500)

    loop_site = "assemble"
    even_sites = ("assemble", "postprocess")
    even_kernel = "assemble"
