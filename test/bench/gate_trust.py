#!/usr/bin/env python3
"""Measures how reliable `gpuprof check` is on this machine: with a planted slowdown, and with an unchanged program.

    gate_trust.py --gpuprof build/gpuprof --example build/examples/opencl/example_opencl [--runs 8] [--planted 10]
                  [--unchanged 20] [--site solve] [--percent 150] [--launches 300] [--json]

Each comparison records both sides anew, alternately. With a planted slowdown, the verdict must be a regression that names
the slowed function. For the unchanged program it may pass or be inconclusive. Exit status 1: do not trust the gate; it
found fewer than 9 of 10 slowdowns or raised a false alarm.
"""

import argparse
import collections
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

WORDS = {0: "pass", 1: "regression", 125: "inconclusive"}


def command(options, *more):
    return [options.example, "--launches", str(options.launches), *more]


def compare(options, old, new):
    folder = tempfile.mkdtemp(prefix="gpuprof-trust.")
    result = os.path.join(folder, "check.json")
    begin = time.monotonic()
    run = subprocess.run([options.gpuprof, "check", "--runs", str(options.runs), "-o", folder, "--json", result, "--",
                          *old, "---", *new], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    if run.returncode not in WORDS:
        sys.exit(f"check failed with {run.returncode}:\n{run.stderr}")
    with open(result, encoding="utf-8") as file:
        found = json.load(file)
    shutil.rmtree(folder)
    return WORDS[run.returncode], run.stdout, found, seconds


def series(options, name, count, new, names):
    """Returns the outcomes of `count` comparisons, and the number of regressions whose output contains `names`."""
    outcomes, named, noise = collections.Counter(), 0, []
    for number in range(count):
        outcome, text, found, seconds = compare(options, command(options), new)
        outcomes[outcome] += 1
        named += outcome == "regression" and names in text
        noise.append(found.get("noise_percent") or 0)
        print(f"{name} {number + 1} of {count}: {outcome}, noise {noise[-1]:.2g}%, {seconds:.1f} s", file=sys.stderr,
              flush=True)
        if outcome == "regression" and names not in text:
            print(text, file=sys.stderr, flush=True)
    return {"comparisons": count, **outcomes, "named": named, "noise_percent_median": statistics.median(noise or [0])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpuprof", default="build/gpuprof")
    parser.add_argument("--example", default="build/examples/opencl/example_opencl")
    parser.add_argument("--runs", type=int, default=8, help="runs on each side")
    parser.add_argument("--planted", type=int, default=10)
    parser.add_argument("--unchanged", type=int, default=20)
    parser.add_argument("--site", default="solve")
    parser.add_argument("--percent", type=int, default=150, help="work below that function, in percent of the usual work")
    parser.add_argument("--launches", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    slow = command(options, "--slow-site", options.site, "--percent", str(options.percent))
    result = {
        "runs": options.runs, "site": options.site, "percent": options.percent, "launches": options.launches,
        "planted": series(options, "planted", options.planted, slow, options.site),
        "unchanged": series(options, "unchanged", options.unchanged, command(options), "\0"),
    }
    trusted = result["planted"]["named"] * 10 >= options.planted * 9 and "regression" not in result["unchanged"]
    result["trusted"] = trusted
    if options.json:
        print(json.dumps(result))
    else:
        planted, unchanged = result["planted"], result["unchanged"]
        print(f"planted ({options.percent}% of the work below {options.site}, {options.runs} runs a side): red and named "
              f"{planted['named']} of {options.planted}, green {planted.get('pass', 0)}, inconclusive "
              f"{planted.get('inconclusive', 0)}")
        print(f"unchanged: red {unchanged.get('regression', 0)} of {options.unchanged}, green {unchanged.get('pass', 0)}, "
              f"inconclusive {unchanged.get('inconclusive', 0)}; noise of a kernel {unchanged['noise_percent_median']:.2g}%")
    sys.exit(0 if trusted else 1)


if __name__ == "__main__":
    main()
