#!/usr/bin/env python3
"""Measures the cost of recording: medians of native and recorded runs, which alternate.

    test/bench/overhead.py --gpuprof build/gpuprof --case NAME=REGEX=COMMAND ... [--variant NAME ...]

The command of a case prints its own figure (ns per launch, ms per step). A group in REGEX captures the figure. Every round
runs the command in each variant, in rotating order. The tables give medians, the spread, and ratios to native and to
CUPTI's activity records alone, if measured.
"""

import argparse
import collections
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

# `record` has options of gpuprof record; None means a native run.
Variant = collections.namedtuple("Variant", "name record env")
NATIVE = Variant("native", None, {})
FLOOR = Variant("CUPTI activity alone", ["--stacks=none"], {"GPUPROF_CUPTI_DOMAINS": "none"})
INJECTION = Variant("injection alone", ["--stacks=none"], {})
STACKS = Variant("with stacks", ["--stacks=inproc"], {})
STACKS_BPF = Variant("with stacks by BPF", ["--stacks=bpf"], {})
LATENCY = Variant("stacks, --latency", ["--stacks=inproc", "--latency"], {})
TIMELINE = Variant("stacks, --timeline", ["--stacks=inproc", "--timeline"], {})
SAMPLES = Variant("stacks, --pc-sampling", ["--stacks=inproc", "--pc-sampling"], {})
WHOLE = Variant("stacks, --graphs=whole", ["--stacks=inproc", "--graphs=whole"], {})
BUDGET = Variant("stacks, --max-overhead 5", ["--stacks=inproc", "--max-overhead", "5"], {})
VARIANTS = {variant.name: variant
            for variant in (NATIVE, FLOOR, INJECTION, STACKS, STACKS_BPF, LATENCY, TIMELINE, SAMPLES, WHOLE, BUDGET)}


class Case:
    """A command that is measured in several variants, one round at a time."""

    def __init__(self, name, pattern, command, variants):
        self.name, self.pattern, self.command, self.variants = name, pattern, command, list(variants)
        self.order = list(variants)
        self.values = {variant.name: [] for variant in variants}
        self.summary = ""
        self.seconds = {}  # longest run of each variant, in seconds
        self.broken = {}   # variant: why it failed

    def run(self, gpuprof, variant, timeout):
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="gpuprof-bench.") as scratch:
            command = self.command
            if variant.record is not None:
                profile = os.path.join(scratch, "profile.txt")
                command = [gpuprof, "record", "-o", profile, *variant.record, "--", *command]
            try:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                      timeout=timeout, check=False, env={**os.environ, **variant.env})
            except subprocess.TimeoutExpired:
                self.broken[variant.name] = f"timed out after {timeout:.0f} s"
                return
        match = re.search(self.pattern, done.stdout)
        if done.returncode != 0 or not match:
            self.broken[variant.name] = f"exited {done.returncode} without its figure: " \
                                        f"{done.stdout[-300:]}{done.stderr[-500:]}"
            return
        self.values[variant.name].append(float(match.group(1)))
        self.seconds[variant.name] = max(self.seconds.get(variant.name, 0), time.monotonic() - begin)
        if variant is STACKS and done.stderr.strip():
            self.summary = done.stderr.strip().splitlines()[-1]

    def warm_up(self, gpuprof, timeout):
        """Makes a native run that does not count, to fill the page cache and compile kernels."""
        self.run(gpuprof, self.variants[0], timeout)
        self.values[self.variants[0].name].clear()

    def round(self, gpuprof, timeout, deadline):
        """Runs every variant once. Returns False if the round would miss the deadline."""
        for variant in self.order:
            if variant.name in self.broken:
                continue
            expected = self.seconds.get(variant.name, max(self.seconds.values(), default=0))
            if time.monotonic() + expected > deadline:
                return False
            self.run(gpuprof, variant, min(timeout, max(deadline - time.monotonic(), 1)))
        self.order = self.order[1:] + self.order[:1]
        return True

    def rows(self):
        """Returns [{variant, median, min, max, rounds, native, floor}].

        native, floor: ratios of the median to that of the native run and of CUPTI alone; missing if that was not measured"""
        medians = {name: statistics.median(values) for name, values in self.values.items() if values}
        result = []
        for name, values in self.values.items():
            if not values:
                continue
            row = {"variant": name, "median": medians[name], "min": min(values), "max": max(values),
                   "rounds": len(values), "values": values}
            for key, base in (("native", NATIVE.name), ("floor", FLOOR.name)):
                if base in medians:
                    row[key] = medians[name] / medians[base]
            result.append(row)
        return result

    def print(self):
        for row in self.rows():
            floor = f"{row['floor']:7.3f}x of CUPTI alone" if "floor" in row else ""
            spread = f"{row['min']:.2f}..{row['max']:.2f}"
            print(f"{self.name:24} {row['variant']:26} {row['median']:12.2f} {spread:>22} "
                  f"{row.get('native', 0):7.3f}x {floor} ({row['rounds']})", flush=True)
        for name, why in self.broken.items():
            print(f"{self.name:24} {name:26} BROKEN: {why}", flush=True)
        if self.summary:
            print(f"{'':24} {self.summary}", flush=True)


def alternate(gpuprof, cases, rounds, deadline=float("inf"), timeout=300):
    """Measures all cases and variants in each round. Prints the results after each round, in case the run is interrupted."""
    for case in cases:
        case.warm_up(gpuprof, timeout)
    for number in range(1, rounds + 1):
        going_on = [case.round(gpuprof, timeout, deadline) for case in cases]
        print(f"-- round {number} of {rounds}: case, variant, median, min..max, ratio to native", flush=True)
        for case in cases:
            case.print()
        if not any(going_on):
            print("-- out of time", flush=True)
            break
    return {case.name: {"rows": case.rows(), "broken": case.broken} for case in cases}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpuprof", required=True)
    parser.add_argument("--case", action="append", required=True, metavar="NAME=REGEX=COMMAND")
    parser.add_argument("--variant", action="append", choices=sorted(VARIANTS),
                        help="default: native, injection alone, with stacks")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    variants = [VARIANTS[name] for name in options.variant or (NATIVE.name, INJECTION.name, STACKS.name)]
    cases = []
    for text in options.case:
        name, pattern, command = text.split("=", 2)
        cases.append(Case(name, pattern, shlex.split(command), variants))
    figures = alternate(os.path.abspath(options.gpuprof), cases, options.rounds, timeout=options.timeout)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)
    return 1 if any(case.broken for case in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
