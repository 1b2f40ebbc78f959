"""Samples inside of kernels on a GPU, held against known answers, and what they cost. A part of gpu_check.py."""

import json
import os
import re
import subprocess
import tempfile
import time

import overhead

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..", "examples", "cuda", "stalls.cu")
TORCH_STEP = os.path.join(HERE, "..", "..", "examples", "python", "torch_step.py")
TRITON_KERNEL = os.path.join(HERE, "..", "..", "examples", "python", "triton_kernel.py")

# The kernels of examples/cuda/stalls.cu, and the reasons of which one must be the largest.
EXPECTED = {"chase": ("long_scoreboard",), "meet": ("barrier",), "grind": ("math_pipe_throttle",),
            "collide": ("short_scoreboard", "mio_throttle")}
P10 = r"10th percentile ([0-9.]+)"


def run(command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400, check=False,
                          **options)


def folded(gpuprof, profile, *options):
    """[(frames, number)] of `flame`."""
    text = run([gpuprof, "flame", "-i", profile, *options]).stdout
    return [(line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2])) for line in text.splitlines()]


def kernel_of(frames):
    """The kernel's frame is the first that is marked as GPU code."""
    return next((frame for frame in frames if frame.endswith("_[G]")), "").split("(")[0].split("_[G]")[0]


def sums(rows, key):
    result = {}
    for frames, number in rows:
        result[key(frames)] = result.get(key(frames), 0) + number
    return result


def record(gpuprof, check, scratch, command, *options):
    """The profile's path and its report, or nothing."""
    profile = os.path.join(scratch, "profile.txt")
    done = run([gpuprof, "record", "-o", profile, "--pc-sampling", *options, "--", *command])
    last = [line for line in done.stderr.splitlines() if line.strip()]
    print("\n".join(last[-6:]), flush=True)
    if not check(done.returncode == 0, f"{os.path.basename(command[-1])} recorded with samples"):
        return None, None
    report = json.loads(run([gpuprof, "report", "--json", "--top", "100000", "-i", profile]).stdout)
    dropped = report["losses"].get("samples_dropped", 0)
    check(report["samples"] > 0, f"{report['samples']} samples in {report['gpu_ns'] / 1e6:.1f} ms of GPU time, {dropped} "
                                 "dropped")
    return profile, report


def check_conservation(gpuprof, check, profile):
    """The leaves of each kernel sum to its nanoseconds, in integers."""
    whole = sums(folded(gpuprof, profile, "--unit", "ns", "--leaf", "kernel"), kernel_of)
    for leaf in ("function", "line", "instruction", "stall"):
        check(sums(folded(gpuprof, profile, "--unit", "ns", "--leaf", leaf), kernel_of) == whole,
              f"--leaf {leaf}: the leaves of each kernel sum to its nanoseconds")


def check_reasons(check, report):
    for row in report["stalls"]:
        name = row["kernel"].split("(")[0]
        shares = ", ".join(f"{one['reason']} {one['percent']:.1f}%" for one in row["reasons"][:4])
        lines = ", ".join(f"{os.path.basename(one['file'])}:{one['line']} {one['percent']:.1f}%"
                          for one in row["lines"][:3])
        if name in EXPECTED:
            check(row["reasons"][0]["reason"] in EXPECTED[name], f"{name} ({row['samples']}): {shares}; {lines}")
        else:
            print(f"      {name} ({row['samples']}): {shares}; {lines}", flush=True)


def check_hot_line(check, report):
    with open(SOURCE, encoding="utf-8") as file:
        line = next(number for number, text in enumerate(file, 1) if "the line that is waited for" in text)
    for row in report["stalls"]:
        if row["kernel"].startswith("chase"):
            share = sum(one["percent"] for one in row["lines"] if one["line"] == line)
            check(share > 90, f"chase: {share:.2f}% of its samples are at the line that loads")


def check_ratio(gpuprof, check, profile, what, key, one, other):
    times = sums(folded(gpuprof, profile, "--unit", "ns", "--leaf", "kernel"), key)
    samples = sums(folded(gpuprof, profile, "--weight", "samples"), key)
    if not check(samples.get(one) and samples.get(other), f"{what}: both have samples"):
        return
    by_time, by_samples = times[one] / times[other], samples[one] / samples[other]
    check(abs(by_samples / by_time - 1) < 0.01,
          f"{what}: {by_samples:.4f} by samples ({samples[one]}:{samples[other]}), {by_time:.4f} by measured time "
          f"({100 * (by_samples / by_time - 1):+.2f}%)")


def path_of(frames):
    if kernel_of(frames) != "shared":
        return ""
    return "long" if any("long_path" in frame for frame in frames) else "short"


def known_answers(options, check):
    program = os.path.join(options.examples, "example_cuda_stalls")
    with tempfile.TemporaryDirectory() as scratch:
        profile, report = record(options.gpuprof, check, scratch, [program])
        if profile:
            check_reasons(check, report)
            check_hot_line(check, report)
            check_conservation(options.gpuprof, check, profile)
            check_ratio(options.gpuprof, check, profile, "heavy:light, eager", kernel_of, "heavy", "light")
            check_ratio(options.gpuprof, check, profile, "one kernel from two paths", path_of, "long", "short")
        profile, report = record(options.gpuprof, check, scratch, [program, "--graph"])
        if profile:
            check_ratio(options.gpuprof, check, profile, "heavy:light, in a graph", kernel_of, "heavy", "light")


def python_lines(options, check):
    """Lines of Triton's kernels lead to the Python source."""
    if run(["python3", "-c", "import triton, torch, sys; sys.exit(not torch.cuda.is_available())"]).returncode != 0:
        print("skip  Triton: python3 has none that sees a GPU", flush=True)
        return
    with tempfile.TemporaryDirectory() as scratch:
        profile, report = record(options.gpuprof, check, scratch, ["python3", TRITON_KERNEL])
        if profile:
            rows = [row for row in report["stalls"] if row["kernel"].startswith("scaled_softmax")]
            files = {os.path.basename(line["file"]) for row in rows for line in row["lines"]}
            check("triton_kernel.py" in files, f"the Triton kernel's lines are in {sorted(files)}")
            check_conservation(options.gpuprof, check, profile)
            out = os.environ.get("OUT")
            if out:
                run([options.gpuprof, "flame", "-i", profile, "--svg", os.path.join(out, "triton.svg")])


def training_step(options, check):
    """From Python line to stall in one picture, for a person to look at."""
    with tempfile.TemporaryDirectory() as scratch:
        profile, report = record(options.gpuprof, check, scratch,
                                 ["python3", TORCH_STEP, "--layers", "14", "--steps", "30"])
        if profile:
            check_conservation(options.gpuprof, check, profile)
            stacks = [frames for frames, _ in folded(options.gpuprof, profile, "--weight", "samples")]
            whole = sum(any(".py:" in frame for frame in frames) and frames[-1].endswith("_[g]") for frames in stacks)
            check(whole > 0, f"{whole} of {len(stacks)} stacks lead from a Python line to a stall")
            print(run([options.gpuprof, "report", "-i", profile]).stdout, flush=True)
            out = os.environ.get("OUT")
            if out:
                run([options.gpuprof, "flame", "-i", profile, "--svg", os.path.join(out, "torch.svg")])


def proton_step(rounds):
    """p10 of the same step under Triton Proton's own PC sampling, where it runs at all."""
    done = run(["python3", TORCH_STEP, "--layers", "14", "--steps", "20", "--under", "proton-pcsampling"])
    match = re.search(P10, done.stdout)
    print(f"Proton, PC sampling: {match.group(1) + ' ms' if match else done.stderr[-300:]} ({rounds} run)", flush=True)


def cost(options, deadline):
    step = ["python3", TORCH_STEP, "--layers", "14", "--steps", "100"]
    variants = [overhead.NATIVE, overhead.STACKS, overhead.SAMPLES]
    cases = [overhead.Case("PyTorch step p10, ms", P10, step, variants),
             overhead.Case("PyTorch step, graph, p10", P10, [*step, "--graph"], variants)]
    loop = [os.path.join(options.examples, "bench_cuda_launch_loop"), "--launches", "30000", "--warmup", "10000"]
    cases.append(overhead.Case("launch loop, ns", r"(\d+) ns per launch \(median", loop, variants))
    return overhead.alternate(options.gpuprof, cases, options.rounds, deadline)


def part(options, check, deadline):
    known_answers(options, check)
    if run(["python3", "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"]).returncode != 0:
        print("skip  PyTorch: python3 has none that sees a GPU", flush=True)
        return None
    python_lines(options, check)
    training_step(options, check)
    if time.monotonic() + 60 < deadline:
        proton_step(1)
    return cost(options, deadline)
