#!/usr/bin/env python3
"""Measures `gpuprof check` on an NVIDIA GPU: a PyTorch step against itself, and against one with a slower kernel.

    gate_gpu.py --gpuprof build/gpuprof [--seconds 540] [--runs 8] [--comparisons 20] [--slower 3] [--elements 64000000]
                [--steps 30] [--layers 8] [--keep FOLDER] [-- COMMAND --- SLOWER_COMMAND]

Records both programs alternately for --seconds: two runs of the first program, then one of the slower one. Each comparison
draws its runs from these. Two disjoint groups of the first program give a false alarm if `check` reports a regression. One
group of each program gives a detection if it does. Comparisons share runs, so they are not independent. The number of
runs, which is printed, limits the accuracy. Prints one JSON object. Needs python3 with torch, but no network.
"""

import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import time

WORDS = {0: "pass", 1: "regression", 2: "unusable", 125: "inconclusive"}
STEP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/python/torch_step.py")


def record(options, command, path):
    """Records a run and returns how long that took, in seconds."""
    begin = time.monotonic()
    run = subprocess.run([options.gpuprof, "record", "-q", "-o", path, "--", *command], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)} failed with {run.returncode}:\n{run.stderr[-4000:]}")
    return time.monotonic() - begin


def record_pool(options, folder, commands):
    """Returns ([profiles], [profiles of the slower program], seconds per run)."""
    record(options, commands[0], "/dev/null")
    deadline = time.monotonic() + options.seconds
    pools, took = ([], []), []
    while time.monotonic() + (max(took) if took else 0) < deadline:
        which = 1 if len(pools[0]) >= 2 * (len(pools[1]) + 1) else 0
        path = os.path.join(folder, f"{'ab'[which]}-{len(pools[which]) + 1}.txt")
        took.append(record(options, commands[which], path))
        pools[which].append(path)
        print(f"run {len(took)}: {took[-1]:.1f} s", file=sys.stderr, flush=True)
    return (*pools, sum(took) / max(1, len(took)))


def check(options, old, new):
    run = subprocess.run([options.gpuprof, "check", "--json", "-", *options.check, *old, "--", *new],
                         capture_output=True, text=True, check=False)
    word = WORDS.get(run.returncode, str(run.returncode))
    try:
        found = json.loads(run.stdout)
    except ValueError:
        found = {"stderr": run.stderr[-2000:]}
    return word, found, run.stdout


def compare_often(options, chance, draw, name):
    outcomes, named, noise, least, reasons = collections.Counter(), 0, [], [], collections.Counter()
    example = None
    for _ in range(options.comparisons):
        word, found, text = check(options, *draw(chance))
        outcomes[word] += 1
        named += word == "regression" and name in text
        noise.append(found.get("noise_percent"))
        least.append(found.get("minimum_detectable_percent"))
        reasons.update(found.get("reasons", [found.get("stderr", "")]))
        example = example if example and word != "regression" else found
    return {"comparisons": options.comparisons, **outcomes, "named": named, "noise_percent": noise,
            "minimum_detectable_percent": least, "reasons": dict(reasons)}, example


def commands_of(options):
    if options.command:
        words = options.command[1:] if options.command[0] == "--" else options.command
        at = words.index("---")
        return words[:at], words[at + 1:]
    base = [sys.executable, STEP, "--steps", str(options.steps), "--warmup", "3", "--layers", str(options.layers)]
    more = round(options.elements * (1 + options.slower / 100))
    return [[*base, "--extra-elements", str(elements)] for elements in (options.elements, more)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpuprof", default="build/gpuprof")
    parser.add_argument("--seconds", type=float, default=540, help="duration of all recordings")
    parser.add_argument("--runs", type=int, default=8, help="runs on each side of a comparison")
    parser.add_argument("--comparisons", type=int, default=20, help="comparisons of each kind")
    parser.add_argument("--slower", type=float, default=3, help="slowdown of one kernel, in percent")
    parser.add_argument("--elements", type=int, default=64_000_000, help="elements that the slower kernel processes")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--name", default="sin_kernel", help="part of the slower kernel's name")
    parser.add_argument("--check", action="append", default=[], help="an option for check")
    parser.add_argument("--keep", help="folder for the profiles")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- COMMAND --- SLOWER_COMMAND")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpuprof-gate.") as temporary:
        folder = options.keep or temporary
        os.makedirs(folder, exist_ok=True)
        first, slower, seconds = record_pool(options, folder, commands_of(options))
        result = {"runs_recorded": [len(first), len(slower)], "seconds_a_run": round(seconds, 2),
                  "runs_a_side": options.runs, "slower_percent": options.slower,
                  "megabytes_a_profile": round(os.path.getsize(first[0]) / 1e6, 2)}
        if len(first) < 2 * options.runs or len(slower) < options.runs:
            sys.exit(f"too few runs within the time: {json.dumps(result)}")
        chance = random.Random(options.seed)

        def two_of_the_first(chance):
            drawn = chance.sample(first, 2 * options.runs)
            return drawn[:options.runs], drawn[options.runs:]

        def one_of_each(chance):
            return chance.sample(first, options.runs), chance.sample(slower, options.runs)

        result["unchanged"], _ = compare_often(options, chance, two_of_the_first, options.name)
        result["slower"], result["example"] = compare_often(options, chance, one_of_each, options.name)
        print(json.dumps(result))


if __name__ == "__main__":
    main()
