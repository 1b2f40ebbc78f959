#!/usr/bin/env python3
"""Measures how long it takes to merge the profiles of a large job: one program, one process per rank.

usage: merge_scale.py GPUPROF GENERATE_PROFILE [--profiles N] [--records N] [--works N]

Makes N profiles that differ in rank, pid, host and start (default: 4096 with 14,000 GPU lines and 400 WORKs, 0.95 MB
each). Merges them with one command and checks the sums. Prints the seconds and the peak memory.
"""

import argparse
import os
import re
import resource
import subprocess
import tempfile
import time

RANKS_OF_A_HOST = 8


def make(folder, arguments):
    template = subprocess.run(
        [arguments.generate_profile, str(arguments.records), str(arguments.works)], check=True, capture_output=True).stdout
    end = [int(field) for field in template.splitlines()[-1].split(b";")[1:]]
    highest = max(int(n) for n in re.findall(rb"^STRING;(\d+);", template, re.MULTILINE)) + 1
    for rank in range(arguments.profiles):
        text = re.sub(rb"^PROCESS;1;.*$", b"STRING;%d;%d\nPROCESS;1;%d;1;1;1;2;%d;0" % (highest, rank, 5000 + rank, highest),
                      template, 1, re.MULTILINE)
        meta = b"META;host;node%d\nMETA;start_ns;1000\nMETA;start_unix_ns;%d\n" % (
            rank // RANKS_OF_A_HOST, 1_700_000_000_000_000_000 + rank * 1_000_000)
        head, rest = text.split(b"\n", 1)
        with open(os.path.join(folder, f"run-{rank:05}.txt"), "wb") as file:
            file.write(head + b"\n" + meta + rest)
    return end


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpuprof")
    parser.add_argument("generate_profile")
    parser.add_argument("--profiles", type=int, default=4096)
    parser.add_argument("--records", type=int, default=14000)
    parser.add_argument("--works", type=int, default=400)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpuprof-merge.") as work:
        folder = os.path.join(work, "run")
        os.mkdir(folder)
        end = make(folder, arguments)
        size = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
        merged = os.path.join(work, "merged.txt")
        begin = time.monotonic()
        subprocess.run([arguments.gpuprof, "merge", folder, "-o", merged], check=True, stdin=subprocess.DEVNULL)
        spent = time.monotonic() - begin
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(merged, "rb") as file:
            file.seek(-200, os.SEEK_END)
            total = [int(field) for field in file.read().splitlines()[-1].split(b";")[1:]]
        wanted = [arguments.profiles * value for value in end[1:]]
        assert total[1:] == wanted, (total, wanted)
        print(f"{arguments.profiles} profiles, {size / 1e9:.2f} GB: {spent:.1f} s ({usage.ru_utime + usage.ru_stime:.1f} s "
              f"of CPU), {usage.ru_maxrss / 1024:.0f} MiB; result {os.path.getsize(merged) / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
