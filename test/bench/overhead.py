#!/usr/bin/env python3
"""What recording costs a program: native against recorded, in one run, alternating, medians.

    test/bench/overhead.py --gpuprof build/gpuprof --case NAME=REGEX=COMMAND ...

Each case is a command that prints its own figure (ns a launch, ms a step); REGEX has one group that holds it. Every
round runs the command natively, with the injection library alone (--stacks=none) and with a stack for every launch,
in an order that rotates from round to round. The table gives medians, the spread, and ratios to native.
"""

import argparse
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile


def figure(command, pattern, timeout):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False)
    match = re.search(pattern, done.stdout)
    if done.returncode != 0 or not match:
        sys.exit(f"overhead.py: {shlex.join(command)} exited {done.returncode} without its figure\n"
                 f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return float(match.group(1)), done.stderr.strip().splitlines()


def measure(gpuprof, name, pattern, command, rounds, timeout):
    with tempfile.TemporaryDirectory() as scratch:
        profile = os.path.join(scratch, "profile.txt")
        record = [gpuprof, "record", "-o", profile]
        variants = {
            "native": command,
            "injection alone": [*record, "--stacks=none", "--", *command],
            "with stacks": [*record, "--stacks=bpf", "--", *command],
        }
        results = {variant: [] for variant in variants}
        summary = ""
        order = list(variants)
        figure(command, pattern, timeout)  # warm-up: page cache, compiled kernels
        for _ in range(rounds):
            for variant in order:
                value, stderr = figure(variants[variant], pattern, timeout)
                results[variant].append(value)
                if variant == "with stacks" and stderr:
                    summary = stderr[-1]
            order = order[1:] + order[:1]
    native = statistics.median(results["native"])
    for variant, values in results.items():
        median = statistics.median(values)
        print(f"{name:28} {variant:16} {median:12.2f} {min(values):10.2f}..{max(values):<10.2f} {median / native:6.3f}x")
    if summary:
        print(f"{'':28} {summary}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpuprof", required=True)
    parser.add_argument("--case", action="append", required=True, metavar="NAME=REGEX=COMMAND")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=300)
    options = parser.parse_args()
    print(f"{'case':28} {'variant':16} {'median':>12} {'min..max':^22} {'ratio':>7}   ({options.rounds} rounds)")
    for case in options.case:
        name, pattern, command = case.split("=", 2)
        measure(os.path.abspath(options.gpuprof), name, pattern, shlex.split(command), options.rounds, options.timeout)


if __name__ == "__main__":
    main()
