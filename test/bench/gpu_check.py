#!/usr/bin/env python3
"""Runs everything that needs an NVIDIA GPU: comparisons with known answers and with torch.profiler, and the cost of recording.

    test/bench/gpu_check.py --gpuprof PATH --examples FOLDER [--part NAME ...] [--piece NAME ...] [--rounds N]
                            [--seconds N]

FOLDER holds the built CUDA examples; this script builds nothing. It uses PyTorch if python3 has it. Parts:
  torch   kernel times compared with torch.profiler's
  matrix  every row of test/runtime/matrix; "attach-cost" prints launch costs before, during and after `record -p`
  cost    native, CUPTI alone, injection alone, with stacks, and the options that cost more
  samples --pc-sampling compared with known answers, and its cost
  stacks  completeness of stacks and the cost of each stack engine: the pieces of gpu_stacks.py
It prints each result as soon as it is known, and stops after --seconds. If OUT is set, it also writes the figures to
$OUT/gpu_check.json. Exit status 1 if a check fails.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import gpu_samples
import gpu_stacks
import overhead

HERE = os.path.dirname(os.path.abspath(__file__))
TORCH_STEP = os.path.join(HERE, "..", "..", "examples", "python", "torch_step.py")
MATRIX = os.path.join(HERE, "..", "runtime", "matrix")
PARTS = ("torch", "matrix", "samples", "cost", "stacks")
failures = []


def check(condition, what):
    print(f"{'ok  ' if condition else 'FAIL'}  {what}", flush=True)
    if not condition:
        failures.append(what)
    return bool(condition)


def run(command, timeout=400, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
                          check=False, **options)


def has_torch():
    return run(["python3", "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"]).returncode == 0


def part_matrix(options, deadline):
    command = [sys.executable, os.path.join(MATRIX, "matrix.py"), "--on", "gpu", "--gpuprof", options.gpuprof,
               "--examples", options.examples]
    for name in options.only or ():
        command += ["--only", name]
    lines = []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip())
            if time.monotonic() > deadline:
                process.kill()
                lines.append("out of time")
                print("-- out of time", flush=True)
        status = process.wait()
    check(status == 0, f"matrix: status {status}")
    return lines


def kernels_of(options, profile):
    """Returns {kernel: (count, ns)} from the report."""
    report = json.loads(run([options.gpuprof, "report", "--json", "--top", "100000", "-i", profile]).stdout)
    return {row["name"]: (row["count"], row["ns"]) for row in report["work"]}


def part_torch(options, deadline):
    """Compares gpuprof's kernel times with torch.profiler's for the same step in two runs."""
    del deadline
    if not has_torch():
        print("skip  PyTorch: python3 has none that sees a GPU", flush=True)
        return None
    step = ["python3", TORCH_STEP, "--layers", "14", "--warmup", "10", "--steps", "50", "--json"]
    with tempfile.TemporaryDirectory() as scratch:
        profile = os.path.join(scratch, "profile.txt")
        done = run([options.gpuprof, "record", "-o", profile, "--", *step])
        if not check(done.returncode == 0, f"PyTorch step recorded: {done.stderr.strip().splitlines()[-1:]}"):
            return None
        mine = kernels_of(options, profile)
    profiled = json.loads(run([*step, "--torch-profiler"]).stdout)["torch_profiler"]
    # The profile includes warm-up steps, which torch.profiler leaves out. So the mean times of each kernel are compared.
    scaled = total = 0
    for name, kernel in profiled["kernels"].items():
        if name in mine and mine[name][0] > 0:
            scaled += mine[name][1] * kernel["count"] / mine[name][0]
            total += kernel["ns"]
    share = total / profiled["total_ns"]
    check(share > 0.98, f"PyTorch step: kernels of the same name are {100 * share:.2f}% of torch.profiler's GPU time")
    check(total > 0 and abs(scaled / total - 1) < 0.01,
          f"PyTorch step: kernel time {scaled / 1e6:.3f} ms against torch.profiler's {total / 1e6:.3f} ms for 50 steps "
          f"({100 * (scaled / max(total, 1) - 1):+.2f}%)")
    return {"ours_ns": scaled, "torch_profiler_ns": total, "same_names": share}


def part_cost(options, deadline):
    loop = [os.path.join(options.examples, "bench_cuda_launch_loop"), "--launches", "30000", "--warmup", "10000"]
    usual = [overhead.NATIVE, overhead.FLOOR, overhead.INJECTION, overhead.STACKS]
    cases = [overhead.Case("launch loop, ns", r"(\d+) ns per launch \(median", loop,
                           [*usual, overhead.LATENCY, overhead.TIMELINE])]
    if has_torch():
        step = ["python3", TORCH_STEP, "--layers", "14", "--steps", "60"]
        cases.append(overhead.Case("PyTorch step, ms", r"([0-9.]+) ms per step", step, usual))
        cases.append(overhead.Case("PyTorch step, graph, ms", r"([0-9.]+) ms per step", [*step, "--graph"],
                                   [*usual, overhead.WHOLE]))
    figures = overhead.alternate(options.gpuprof, cases, options.rounds, deadline)
    check_goals(figures)
    return figures


def check_goals(figures):
    for name, figure in figures.items():
        for row in figure["rows"]:
            if row["variant"] == overhead.INJECTION.name and "floor" in row:
                check(row["floor"] < 1.03, f"{name}: injection alone {row['floor']:.3f}x of CUPTI's activity alone")
                if name == "PyTorch step, ms":
                    check(row["native"] < 1.15, f"{name}: injection alone {row['native']:.3f}x of native")
        for variant, why in figure["broken"].items():
            check(False, f"{name}, {variant}: {why}")


def part_samples(options, deadline):
    return gpu_samples.part(options, check, deadline)


def part_stacks(options, deadline):
    if not has_torch():
        print("skip  PyTorch: python3 has none that sees a GPU; only what needs none", flush=True)
        options.piece = [piece for piece in options.piece or gpu_stacks.PIECES if piece in ("launch",)]
    return gpu_stacks.part(options, check, deadline)


def main(options):
    begin = time.monotonic()
    deadline = begin + options.seconds
    devices = run(["nvidia-smi", "-L"]).stdout.strip() if shutil.which("nvidia-smi") else "no nvidia-smi"
    print(devices, "|", os.uname().release, flush=True)
    results = {}
    for part in options.part or PARTS:
        print(f"== {part} ({time.monotonic() - begin:.0f} s)", flush=True)
        results[part] = globals()[f"part_{part}"](options, deadline)
        results["failures"] = failures
        if os.environ.get("OUT"):
            with open(os.path.join(os.environ["OUT"], "gpu_check.json"), "w", encoding="utf-8") as file:
                json.dump(results, file, indent=1)
    print(f"{len(failures)} checks failed, {time.monotonic() - begin:.0f} s", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    PARSER.add_argument("--gpuprof", required=True)
    PARSER.add_argument("--examples", required=True)
    PARSER.add_argument("--part", action="append", choices=PARTS)
    PARSER.add_argument("--only", action="append", metavar="ROW", help="run only these rows of the matrix")
    PARSER.add_argument("--piece", action="append", choices=gpu_stacks.PIECES, help="run only these pieces of `stacks`")
    PARSER.add_argument("--unwind-tables", metavar="PROGRAM", help="test/bench/unwind_tables; default: in --examples")
    PARSER.add_argument("--rounds", type=int, default=5)
    PARSER.add_argument("--seconds", type=float, default=520)
    OPTIONS = PARSER.parse_args()
    OPTIONS.gpuprof = os.path.abspath(OPTIONS.gpuprof)
    OPTIONS.examples = os.path.abspath(OPTIONS.examples)
    sys.exit(main(OPTIONS))
