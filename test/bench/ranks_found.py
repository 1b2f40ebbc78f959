#!/usr/bin/env python3
"""How often `gpuprof ranks` names the rank that is slow, and how often it names one where none is.

usage: ranks_found.py GPUPROF EXAMPLE [--runs N] [--factor PCT] [--steps N] [--work N]

EXAMPLE is example_opencl_ranks: 4 processes, OpenCL on the CPU. Of N runs (default 20) of each kind the slowed ones slow
another rank each time, from another step on. Found means: that rank alone, the kernel `relax` called from smooth(), and
the slice in which it began, or one beside it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

RANKS = 4


def run(arguments, folder, *options):
    """(stdout of the job, what `ranks --json` says) of one recording."""
    profile = os.path.join(folder, "gpuprof.txt")
    job = subprocess.run(
        [arguments.gpuprof, "record", "-q", "--interval", "200ms", "-o", profile, "--", arguments.example, "--steps",
         str(arguments.steps), "--work", str(arguments.work), *options],
        check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = subprocess.run([arguments.gpuprof, "ranks", "--json", profile], check=False, stdout=subprocess.PIPE,
                          stdin=subprocess.DEVNULL)
    if said.returncode not in (0, 1, 125):
        raise RuntimeError(f"ranks: exit status {said.returncode}")
    with open(profile, encoding="utf-8") as lines:
        start = next(int(line.split(";")[2]) for line in lines if line.startswith("META;start_ns;"))
    return job.stdout.decode(), json.loads(said.stdout), start


def what_is_wrong(answer, rank, began_ns):
    """None where the slow rank was found."""
    names = [one["rank"] for one in answer["laggards"]]
    if names != [str(rank)]:
        return f"named {names}, not {rank}: {answer['text']}"
    found = answer["laggards"][0]
    if abs(found["since_ns"] - began_ns) > 2 * answer["block_ns"]:
        return f"since {found['since_ns']} ns, not {began_ns}"
    kernel = found["kernels"][0] if found["kernels"] else {"name": "none", "path": []}
    if kernel["name"] != "relax" or not any("smooth" in str(frame) for frame in kernel["path"]):
        return f"kernel {kernel['name']} from {kernel['path']}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpuprof")
    parser.add_argument("example")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--factor", type=int, default=200)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--work", type=int, default=1_500_000)
    arguments = parser.parse_args()
    found = even = 0
    with tempfile.TemporaryDirectory(prefix="gpuprof-ranks.") as folder:
        for number in range(arguments.runs):
            rank, step = number % RANKS, arguments.steps // 4 + number * arguments.steps // (4 * arguments.runs)
            said, answer, start = run(arguments, folder, "--slow-rank", str(rank), "--slow-from", str(step), "--factor",
                                      str(arguments.factor))
            wrong = what_is_wrong(answer, rank, int(said.split()[-2]) - start)
            found += wrong is None
            if wrong:
                print(f"slow run {number}: {wrong}", flush=True)
            _, answer, _ = run(arguments, folder)
            even += not answer["laggards"]
            if answer["laggards"]:
                print(f"even run {number}: {answer['text']} {answer['laggards'][0]['effect']} "
                      f"noise {answer['laggards'][0]['noise']}", flush=True)
    print(f"found {found} of {arguments.runs}; none named in {even} of {arguments.runs} even runs", flush=True)
    sys.exit(0 if found == even == arguments.runs else 1)


if __name__ == "__main__":
    main()
