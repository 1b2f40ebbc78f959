#!/usr/bin/env python3
"""Compares builds of gpuprof, or one build with several values of an environment variable, in alternating runs.

    test/bench/compare.py --build NAME=PATH ... [--set NAME=VARIABLE=VALUE ...] --case NAME=COMMAND ... [--rounds N]
                          [--record OPTION ...]

The command of a case must print "10th percentile X" of its step times: their mean depends on other load on the machine.
Every round runs the command natively and recorded by each build, in rotating order. --set also runs the first build with the
variable. The table gives the minimum and median of the rounds, and the ratios of the minimum to the first build and to native.
"""

import argparse
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile


def percentile_of(command, env):
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300,
                         env={**os.environ, **env})
    found = re.search(r"10th percentile ([0-9.]+)", run.stdout)
    if run.returncode != 0 or not found:
        sys.exit(f"compare: {command[:4]} ended with {run.returncode}: {run.stdout[-300:]}{run.stderr[-300:]}")
    return float(found.group(1))


def variants_of(options):
    """Returns [(name, gpuprof or None for native, environment)]."""
    builds = [text.split("=", 1) for text in options.build]
    variants = [("native", None, {})] + [(name, os.path.abspath(path), {}) for name, path in builds]
    for text in options.set:
        name, variable, value = text.split("=", 2)
        variants.append((name, os.path.abspath(builds[0][1]), {variable: value}))
    return variants


def print_case(case, figures):
    least = {name: min(values) for name, values in figures.items() if values}
    first = list(figures)[1]
    for name, values in figures.items():
        if values:
            print(f"{case:14} {name:24} least {least[name]:10.3f}  median {statistics.median(values):10.3f}  "
                  f"{least[name] / least[first]:6.3f}x of {first}  {least[name] / least['native']:6.3f}x of native "
                  f"({len(values)} rounds)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="append", required=True, metavar="NAME=PATH")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VARIABLE=VALUE")
    parser.add_argument("--case", action="append", required=True, metavar="NAME=COMMAND")
    parser.add_argument("--record", action="append", default=[], metavar="OPTION", help="an option for gpuprof record")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    variants = variants_of(options)
    cases = [text.split("=", 1) for text in options.case]
    figures = {case: {name: [] for name, _, _ in variants} for case, _ in cases}
    order = list(variants)
    with tempfile.TemporaryDirectory(prefix="gpuprof-compare.") as scratch:
        profile = os.path.join(scratch, "profile.txt")
        for _ in range(options.rounds):
            for case, text in cases:
                for name, gpuprof, env in order:
                    record = [] if gpuprof is None else [gpuprof, "record", "-q", "-o", profile, *options.record, "--"]
                    figures[case][name].append(percentile_of([*record, *shlex.split(text)], env))
            order = order[1:] + order[:1]
            for case, _ in cases:  # results are printed after each round, in case the run is interrupted
                print_case(case, figures[case])


if __name__ == "__main__":
    main()
