#!/usr/bin/env python3
"""Measures what the recording windows of --max-overhead cost a program, from the program's own step times.

    test/bench/window_cost.py --gpuprof PATH [--program NAME ...] [--limit PERCENT ...] [--seconds N]

Programs: torch, graph, llama, generate, jax (need a GPU), opencl (pyopencl). A program repeats a step and writes when each one
began and ended. Two runs of a program differ by more than the limit, because the machine drifts. So each window is compared with
the steps before and after it in the same run. The table has, relative to the run's time:
  cost      the sum over all windows, with its standard error
  nothing   the same for the middle of each pause between two windows: must be zero within its error
  stated    what gpuprof printed
"""

import argparse
import array
import bisect
import math
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "examples", "python"))

MARGIN_NS = 30_000_000  # a window's cost begins before it (subscribing) and ends after it (delivering records)


def torch_step(name):
    import torch  # pylint: disable=import-outside-toplevel  # only the program's process needs it

    if name in ("llama", "generate"):
        import transformers_step  # pylint: disable=import-outside-toplevel
        work = (transformers_step.Generation if name == "generate" else transformers_step.Training)(12, "cuda")
    else:
        import torch_step as steps  # pylint: disable=import-outside-toplevel
        work = steps.CapturedTraining(14, "cuda", False, 0) if name == "graph" else steps.Training(14, "cuda")
    tokens = 0

    def step():
        nonlocal tokens
        tokens += 1
        if name == "generate" and tokens % 500 == 0:
            work.cache = None  # begins a new text, so that steps stay alike
        work.step()
        torch.cuda.synchronize()

    return step


def jax_step(name):
    del name
    import jax  # pylint: disable=import-outside-toplevel
    import jax.numpy as jnp  # pylint: disable=import-outside-toplevel

    keys = jax.random.split(jax.random.PRNGKey(0), 9)
    weights = [jax.random.normal(key, (256, 256)) / 16 for key in keys[:8]]
    data = jax.random.normal(keys[8], (64, 256))

    def loss(weights):
        value = data
        for weight in weights:
            value = jnp.tanh(value @ weight)
        return jnp.mean((value - data) ** 2)

    update = jax.jit(lambda weights: [weight - 0.01 * slope for weight, slope in zip(weights, jax.grad(loss)(weights))])

    def step():
        nonlocal weights
        weights = update(weights)
        jax.block_until_ready(weights)

    return step


def opencl_step(name):
    del name
    import numpy  # pylint: disable=import-outside-toplevel
    import pyopencl  # pylint: disable=import-outside-toplevel

    context = pyopencl.create_some_context(interactive=False)
    queue = pyopencl.CommandQueue(context)
    code = "kernel void add(global float* a) { a[get_global_id(0)] += 1; }"
    kernel = pyopencl.Kernel(pyopencl.Program(context, code).build(), "add")
    numbers = pyopencl.Buffer(context, pyopencl.mem_flags.COPY_HOST_PTR, hostbuf=numpy.zeros(64, numpy.float32))

    def step():
        for _ in range(50):
            kernel(queue, (64,), None, numbers)
        queue.finish()

    return step


PROGRAMS = {"torch": torch_step, "graph": torch_step, "llama": torch_step, "generate": torch_step, "jax": jax_step,
            "opencl": opencl_step}


def run_program(name, seconds, path):
    """Repeats the program's step, and writes the step's begin times (CLOCK_MONOTONIC, ns) and the last one's end."""
    step = PROGRAMS[name](name)
    for _ in range(20):
        step()
    times = array.array("q", [time.monotonic_ns()])
    while times[-1] - times[0] < seconds * 1e9:
        step()
        times.append(time.monotonic_ns())
    with open(path, "wb") as file:
        times.tofile(file)


def windows_of(profile):
    """Returns [(begin, end)] of the profile's recording windows in ns."""
    with open(profile, encoding="utf-8", errors="replace") as file:
        rows = [line.rstrip("\n").split(";") for line in file if line.startswith("WINDOW;")]
    return sorted((int(row[1]), int(row[2])) for row in rows)


def excess_of(times, inside, intervals):
    """Returns the ns that the steps in each interval took more than as many steps around it."""
    result = []
    for begin, end in intervals:
        first = max(bisect.bisect_right(times, begin - MARGIN_NS) - 1, 0)
        last = min(bisect.bisect_left(times, end + MARGIN_NS), len(times) - 1)
        count = last - first
        if count < 1:
            continue
        around = []
        for direction, index in ((-1, first - 1), (1, last)):
            reach = max(count, 20)
            while reach and 0 <= index < len(times) - 1:
                if not inside[index]:
                    around.append(times[index + 1] - times[index])
                    reach -= 1
                index += direction
        if around:
            result.append(times[last] - times[first] - count * sum(around) / len(around))
    return result


def marked(times, windows):
    """Returns for each step whether a window touches it."""
    inside = bytearray(len(times))
    for begin, end in windows:
        first = max(bisect.bisect_right(times, begin - MARGIN_NS) - 1, 0)
        last = bisect.bisect_left(times, end + MARGIN_NS)
        inside[first:last] = b"\1" * (min(last, len(times)) - first)
    return inside


def share(excess, total):
    """Returns "mean +- standard error" of a sum, in percent of the total."""
    if len(excess) < 2:
        return f"unknown ({len(excess)} intervals)"
    mean = sum(excess) / len(excess)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in excess) / (len(excess) - 1))
    return f"{100 * sum(excess) / total:.2f} +- {100 * deviation * math.sqrt(len(excess)) / total:.2f}%"


def measure(gpuprof, program, limit, seconds, scratch):
    times_path, profile = os.path.join(scratch, "times"), os.path.join(scratch, "profile.txt")
    done = subprocess.run(
        [gpuprof, "record", "--max-overhead", f"{limit}%", "-o", profile, "--", sys.executable, os.path.abspath(__file__),
         "--step", program, "--seconds", str(seconds), "--times", times_path],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + 120, check=False)
    if done.returncode != 0:
        print(f"{program:9} {limit}%  FAILED with {done.returncode}: {done.stderr.strip()[-400:]}", flush=True)
        return False
    times = array.array("q")
    with open(times_path, "rb") as file:
        times.frombytes(file.read())
    windows = [window for window in windows_of(profile) if window[0] > times[0] and window[1] < times[-1]]
    pauses = [((one[1] + two[0]) // 2, (one[1] + two[0]) // 2 + one[1] - one[0]) for one, two in zip(windows, windows[1:])
              if two[0] - one[1] > 4 * MARGIN_NS + 2 * (one[1] - one[0])]
    inside, total = marked(times, windows), times[-1] - times[0]
    stated = re.search(r"[^\n]*overhead[^\n]*", done.stderr)
    steps = sorted(times[index + 1] - times[index] for index in range(len(times) - 1))
    print(f"{program:9} {limit}%  cost {share(excess_of(times, inside, windows), total)}  nothing "
          f"{share(excess_of(times, inside, pauses), total)}  {len(windows)} windows, {len(steps)} steps in {total / 1e9:.1f} s, "
          f"median {steps[len(steps) // 2] / 1e6:.3f} ms  stated: {stated.group(0).strip() if stated else 'nothing'}", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpuprof")
    parser.add_argument("--program", action="append", choices=sorted(PROGRAMS), help="default: all that need a GPU")
    parser.add_argument("--limit", action="append", type=float, help="default: 1, 2 and 5 percent")
    parser.add_argument("--seconds", type=float, default=60, help="of steps in each run")
    parser.add_argument("--step", choices=sorted(PROGRAMS), help=argparse.SUPPRESS)  # this process is the program
    parser.add_argument("--times", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        run_program(options.step, options.seconds, options.times)
        return 0
    if not options.gpuprof:
        parser.error("--gpuprof PATH is missing")
    good = True
    with tempfile.TemporaryDirectory(prefix="gpuprof-windows.") as scratch:
        for program in options.program or [name for name in PROGRAMS if name != "opencl"]:
            for limit in options.limit or [1, 2, 5]:
                good = measure(os.path.abspath(options.gpuprof), program, limit, options.seconds, scratch) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
