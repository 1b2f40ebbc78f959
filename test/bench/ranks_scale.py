#!/usr/bin/env python3
"""Measures `ranks` on a large job: one generated profile per rank; one rank has a slow kernel.

usage: ranks_scale.py GPUPROF [--ranks N] [--steps N] [--kernels N]

A step is a slice of 100 ms with some kernels and a collective (default: 1,024 ranks of 1,000 steps with 2 kernels). Checks
that `ranks` names the slow rank and its start. Prints the seconds and the peak memory of `ranks --json` and `--svg`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

MS = 1_000_000
RANKS_OF_A_HOST = 8


def write_rank(folder, rank, slow_from, arguments):
    strings = [str(rank), "ncclDevKernel_AllReduce", "app", "step"] + [f"kernel{i}" for i in range(arguments.kernels)]
    lines = ["GPUPROF;3.2", "META;interval_ns;100000000", f"META;host;node{rank // RANKS_OF_A_HOST}", "META;start_ns;1000",
             f"META;start_unix_ns;{1700000000000000000 + rank}"]
    lines += [f"STRING;{i + 1};{text}" for i, text in enumerate(strings)]
    lines += ["FRAME;1;native;4;0;0;3;0;0x1", "USTACK;1;1", f"PROCESS;1;{1000 + rank};1;1;3;0;1;0"]
    names = [2] + [5 + i for i in range(arguments.kernels)]
    lines += [f"WORK;{i + 1};1;1;0;1;0;0;0;0;0;kernel;{name};0" for i, name in enumerate(names)]
    total = 0
    for step in range(arguments.steps):
        left = 100 * MS - (rank * 7919 + step * 104729) % MS
        for i in range(arguments.kernels):
            ns = 40 * MS // arguments.kernels * (2 if i == 0 and step >= slow_from else 1)
            lines.append(f"GPU;{step};{i + 2};4;{ns // 4 * 4};{ns // 4};{ns // 4};{(ns // 4) ** 2 * 4};0;0")
            left -= ns
            total += ns // 4 * 4
        each = left // 4
        lines.append(f"GPU;{step};1;4;{each * 4};{each};{each};{each * each * 4};0;0")
        total += each * 4
    count = 4 * arguments.steps * (arguments.kernels + 1)
    lines.append(f"END;9;{count};{count};{total};0;0;0\n")
    with open(os.path.join(folder, f"r{rank:05}.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def measured(command, **options):
    """Returns (stdout, time and memory as text)."""
    begin = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **options) as process:
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 1:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}, not 1")
    return out, (f"{time.monotonic() - begin:.1f} s ({usage.ru_utime + usage.ru_stime:.1f} s of CPU), "
                 f"{usage.ru_maxrss / 1024:.0f} MiB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpuprof")
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--kernels", type=int, default=2)
    arguments = parser.parse_args()
    slow, slow_from = arguments.ranks // 2, arguments.steps // 3
    with tempfile.TemporaryDirectory(prefix="gpuprof-ranks.") as folder:
        for rank in range(arguments.ranks):
            write_rank(folder, rank, slow_from if rank == slow else arguments.steps, arguments)
        size = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
        print(f"{arguments.ranks} ranks, {arguments.steps} steps, {size / 1e6:.0f} MB", flush=True)
        out, took = measured([arguments.gpuprof, "ranks", "--json", folder])
        lags = [(one["rank"], one["since_slice"]) for one in json.loads(out)["laggards"]]
        assert [rank for rank, _ in lags] == [str(slow)] and abs(lags[0][1] - slow_from) <= 2, lags
        print(f"--json: {took}", flush=True)
        out, took = measured([arguments.gpuprof, "ranks", "--svg", "-", folder], stderr=subprocess.DEVNULL)
        print(f"--svg: {took}, a picture of {len(out) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
