#!/usr/bin/env python3
"""Everything that needs an NVIDIA GPU, in one run: checks first, then the table of what recording costs.

    test/bench/gpu_check.py --gpuprof PATH --examples FOLDER [--rounds N] [--skip-bench]

FOLDER holds example_cuda and bench_cuda_launch_loop. PyTorch is used when python3 has it. Exit status 1 if a check
fails. What it prints goes into docs/benchmarks.md, with the date.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TORCH_STEP = os.path.join(HERE, "..", "..", "examples", "python", "torch_step.py")
failures = []


def check(condition, what):
    print(f"{'ok  ' if condition else 'FAIL'}  {what}", flush=True)
    if not condition:
        failures.append(what)


def run(command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400, check=False, **options)


class Recording:
    """One recorded run of a command, and what its profile says."""

    def __init__(self, gpuprof, command, options=()):
        self.file = tempfile.NamedTemporaryFile(suffix=".txt")
        done = run([gpuprof, "record", "-o", self.file.name, *options, "--", *command])
        self.status, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        self.folded = run([gpuprof, "flame", "--unit", "ns", "-i", self.file.name]).stdout
        with open(self.file.name, encoding="utf-8") as lines:
            self.lines = [line.rstrip("\n").split(";") for line in lines]
        self.end = next((line for line in self.lines if line[0] == "END"), None)

    def folded_sum(self, pattern=""):
        return sum(int(line.rsplit(" ", 1)[1]) for line in self.folded.splitlines() if re.search(pattern, line))

    def meta(self, suffix):
        return sum(int(line[2]) for line in self.lines if line[0] == "META" and line[1].endswith(suffix))

    def check_sums(self, name):
        check(self.status == 0 and self.end is not None, f"{name}: the recording is whole ({self.stderr.strip().splitlines()[-1:]})")
        if self.end is None:
            return
        valid_ns, valid = self.meta(".cupti.valid_ns"), self.meta(".cupti.valid_records")
        check(self.folded_sum() == int(self.end[4]) == valid_ns,
              f"{name}: sum of folded ns {self.folded_sum()} == END {self.end[4]} == CUPTI's valid records {valid_ns}")
        check(int(self.end[3]) == valid, f"{name}: {self.end[3]} GPU records == {valid} valid records of CUPTI")
        check(int(self.end[6]) == 0, f"{name}: nothing lost")
        check(int(self.end[5]) == int(self.end[3]), f"{name}: {self.end[5]} of {self.end[3]} records have a stack")

    def kernels(self):
        """{name: (count, ns)} of kernels, from the report."""
        done = run([ARGS.gpuprof, "report", "--json", "--top", "100000", "-i", self.file.name])
        report = json.loads(done.stdout)
        return {row["name"]: (row["count"], row["ns"]) for row in report["work"]}


def check_example(gpuprof, examples):
    recording = Recording(gpuprof, [os.path.join(examples, "example_cuda")])
    recording.check_sums("example")
    counts = run([gpuprof, "flame", "--weight", "count", "-i", recording.file.name]).stdout
    for site, kernel, expected in re.findall(r"expected (\w+) (\w+) (\d+)", recording.stdout):
        if kernel in ("light", "heavy"):
            found = sum(int(line.rsplit(" ", 1)[1]) for line in counts.splitlines()
                        if re.search(rf"\b{site}\b.*;{kernel}\b[^;]*_\[G\] ", line))
            check(found == int(expected), f"example: {site} launched {kernel} {found} times, expected {expected}")
    light = recording.folded_sum(r"\bassemble\b.*;light\b")
    heavy = recording.folded_sum(r"\bsolve\b.*;heavy\b")
    check(light > 0 and 3.6 < heavy / light < 4.4, f"example: heavy / light is {heavy / max(light, 1):.2f}, expected 4")
    print(recording.folded)


def check_torch(gpuprof):
    if run(["python3", "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"]).returncode != 0:
        print("skip  PyTorch: python3 has none that sees a GPU")
        return
    step = ["python3", TORCH_STEP, "--layers", "14", "--warmup", "10", "--steps", "50", "--json"]
    recording = Recording(gpuprof, step)
    recording.check_sums("PyTorch step")
    profiled = json.loads(run([*step, "--torch-profiler"]).stdout)["torch_profiler"]
    mine = recording.kernels()
    # Ours saw the warm-up, too: compare what one launch of each kernel costs, weighted by torch.profiler's counts.
    scaled = total = 0
    for name, kernel in profiled["kernels"].items():
        if name in mine and mine[name][0] > 0:
            scaled += mine[name][1] * kernel["count"] / mine[name][0]
            total += kernel["ns"]
    share = total / profiled["total_ns"]
    check(share > 0.98, f"PyTorch step: kernels of the same name make up {100 * share:.2f}% of torch.profiler's GPU time")
    check(total > 0 and abs(scaled / total - 1) < 0.01,
          f"PyTorch step: kernel time {scaled / 1e6:.3f} ms against torch.profiler's {total / 1e6:.3f} ms for 50 steps "
          f"({100 * (scaled / max(total, 1) - 1):+.2f}%)")
    missing = [name for name in profiled["kernels"] if name not in mine]
    if missing:
        print(f"      names that only torch.profiler has: {missing[:5]}")
    print(recording.stderr.strip())


def check_attach(gpuprof, examples):
    loop = subprocess.Popen([os.path.join(examples, "bench_cuda_launch_loop"), "--launches", "4000000"],
                            stdout=subprocess.PIPE, text=True)
    with tempfile.NamedTemporaryFile(suffix=".txt") as profile:
        subprocess.run(["sleep", "2"], check=True)
        recorder = subprocess.Popen([gpuprof, "record", "-p", str(loop.pid), "-o", profile.name], stderr=subprocess.PIPE, text=True)
        subprocess.run(["sleep", "2"], check=True)
        recorder.send_signal(2)
        _, stderr = recorder.communicate(timeout=30)
        counted = run([gpuprof, "flame", "-i", profile.name]).stdout
        check("cudaLaunchKernel" in counted, f"record -p: {stderr.strip().splitlines()[-1:]}")
        print(counted)
    loop.kill()
    loop.wait()


def main():
    print(run(["nvidia-smi", "-L"]).stdout.strip(), "|", os.uname().release, flush=True)
    check_example(ARGS.gpuprof, ARGS.examples)
    check_attach(ARGS.gpuprof, ARGS.examples)
    check_torch(ARGS.gpuprof)
    if not ARGS.skip_bench:
        cases = [f"CUDA launch loop, ns=(\\d+) ns per launch={ARGS.examples}/bench_cuda_launch_loop"]
        if os.path.exists(TORCH_STEP):
            cases.append(f"PyTorch step, ms=([0-9.]+) ms per step=python3 {TORCH_STEP} --layers 14 --steps 100")
        command = [sys.executable, os.path.join(HERE, "overhead.py"), "--gpuprof", ARGS.gpuprof, "--rounds", str(ARGS.rounds)]
        for case in cases:
            command += ["--case", case]
        subprocess.run(command, check=False)
    print(f"{len(failures)} checks failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpuprof", required=True)
    parser.add_argument("--examples", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--skip-bench", action="store_true")
    ARGS = parser.parse_args()
    ARGS.gpuprof = os.path.abspath(ARGS.gpuprof)
    ARGS.examples = os.path.abspath(ARGS.examples)
    main()
