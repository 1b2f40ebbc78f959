#!/usr/bin/env python3
"""Measures how often `gpuprof ranks` names the slow rank, and how often it names a rank when none is slow.

usage: ranks_found.py GPUPROF EXAMPLE [--job opencl|cuda] [--runs N] [--ranks N] [--steps N] [--work N] [--factor PCT]
                      [--interval TIME] [--nccl FILE] [--keep FOLDER]

EXAMPLE is the job: example_opencl_ranks (4 processes, OpenCL on the CPU) or, with --job cuda, example_cuda_ranks (one
process per GPU, default: 2, with NCCL). The script needs only Python 3, gpuprof and the example:

    ranks_found.py build/gpuprof build/examples/opencl/example_opencl_ranks
    ranks_found.py ./gpuprof ./example_cuda_ranks --job cuda

NCCL is --nccl FILE, else that of PyTorch if this Python has it, else the one of the dynamic loader (LD_LIBRARY_PATH).

Makes N even and N slowed runs (default: 20 each). Each slowed run slows another rank, starting at another step. A run
counts as found if `ranks` names that rank alone, the kernel `relax` called from smooth(), and a start that is at most two
blocks off (a block is one or more time slices). Other load on the machine can really slow down a rank. Therefore the
OpenCL job also prints the time of its ranks by their own clocks. A named rank that was slow by that clock in the reported
interval is counted separately. The last line is the summary: "found 20 of 20; none named in 20 of 20 even runs; ...". Exit
status: 0 if all is right, 1 if not, 77 if the job cannot run here.
"""

import argparse
import glob
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile

SKIPPED = 77
JOB_SECONDS = 300
LEAST_LAG = 0.05  # `ranks` ignores smaller lags
DEFAULTS = {"opencl": {"ranks": 4, "steps": 400, "work": 1_500_000}, "cuda": {"ranks": 2, "steps": 2000, "work": 500_000}}


def nccl_of_pytorch():
    for folder in sys.path:
        for file in sorted(glob.glob(os.path.join(folder, "nvidia", "nccl", "lib", "libnccl.so.2"))):
            return file
    return None


def finished(command):
    """Returns (exit status, stdout, stderr), after all processes of the group have ended."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=JOB_SECONDS + 60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise SystemExit(f"{' '.join(command)}: not done after {JOB_SECONDS + 60} s\n{err}") from None
    return process.returncode, out, err


def run(arguments, profile, *options):
    """Makes one recording. Returns (stdout of the job, output of `ranks --json`, start of the recording in CLOCK_MONOTONIC ns)."""
    job = [arguments.example, "--ranks", arguments.ranks, "--steps", arguments.steps, "--work", arguments.work, *options]
    if arguments.job == "cuda":
        job += ["--timeout", JOB_SECONDS] + (["--nccl", arguments.nccl] if arguments.nccl else [])
    status, said, errors = finished([arguments.gpuprof, "record", "-q", "--interval", arguments.interval, "-o", profile, "--",
                                     *map(str, job)])
    if status == SKIPPED:
        print(f"skipped: {errors.strip()}")
        sys.exit(SKIPPED)
    if status != 0:
        raise SystemExit(f"the recording ended with {status}:\n{errors}")
    status, answer, errors = finished([arguments.gpuprof, "ranks", "--json", profile])
    if status not in (0, 1, 125):
        raise SystemExit(f"ranks ended with {status}:\n{errors}")
    with open(profile, encoding="utf-8") as lines:
        start = next(int(line.split(";")[2]) for line in lines if line.startswith("META;start_ns;"))
    return said, json.loads(answer), start


def slow_by_own_clock(said, start, answer):
    """Returns the named ranks, as text, that were slow by the job's own clock in the reported interval."""
    lines = re.findall(r"^rank (\d+) needs, end of part:ns a step:([ :\d]+)$", said, re.M)
    needed = {rank: [tuple(map(int, part.split(":"))) for part in parts.split()] for rank, parts in lines}
    slow = set()
    for lag in answer["laggards"]:
        def in_stretch(rank):
            return [ns for end, ns in needed[rank] if lag["since_ns"] < end - start <= lag["until_ns"]]
        others = [statistics.median(in_stretch(rank)) for rank in needed if rank != lag["rank"] and in_stretch(rank)]
        if others and in_stretch(lag["rank"]):
            if statistics.median(in_stretch(lag["rank"])) > (1 + LEAST_LAG) * statistics.median(others):
                slow.add(lag["rank"])
    return slow


def what_is_wrong(answer, rank, began_ns):
    """Returns None if `ranks` found the slow rank, else what is wrong."""
    names = [one["rank"] for one in answer["laggards"]]
    if names != [str(rank)]:
        return f"named {names}, not {rank}: {answer['text']}"
    found = answer["laggards"][0]
    kernel = found["kernels"][0] if found["kernels"] else {"name": "none", "path": []}
    if not kernel["name"].startswith("relax") or "smooth" not in json.dumps(kernel["path"]):
        return f"kernel {kernel['name']} from {kernel['path']}"
    if abs(found["since_ns"] - began_ns) > 2 * answer["block_ns"]:
        return f"rank, kernel and path are right, but since {found['since_ns']} ns, not {began_ns}"
    return None


def is_in_bounds(answer, began_ns):
    """Returns whether the lag began within the bounds that `ranks` gives."""
    lag = answer["laggards"][0]
    return lag["since_earliest_ns"] - answer["block_ns"] <= began_ns <= lag["since_latest_ns"] + answer["block_ns"]


def arguments_of():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpuprof")
    parser.add_argument("example")
    parser.add_argument("--job", choices=sorted(DEFAULTS), default="opencl")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--factor", type=int, default=200)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--work", type=int)
    parser.add_argument("--interval", default="200ms")
    parser.add_argument("--nccl")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the profiles there")
    arguments = parser.parse_args()
    for name, value in DEFAULTS[arguments.job].items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    arguments.nccl = arguments.nccl or nccl_of_pytorch()
    for name in ("gpuprof", "example"):
        path = os.path.abspath(getattr(arguments, name))
        if not os.access(path, os.X_OK):
            parser.error(f"{path} is not a program")
        setattr(arguments, name, path)
    return arguments


def main():
    arguments = arguments_of()
    found = even = also = in_bounds = 0
    off = []
    with tempfile.TemporaryDirectory(prefix="gpuprof-ranks.") as folder:
        if arguments.keep:
            os.makedirs(arguments.keep, exist_ok=True)
            folder = arguments.keep
        for number in range(arguments.runs):
            rank = number % arguments.ranks
            step = arguments.steps // 4 + number * arguments.steps // (4 * arguments.runs)
            name = f"slow{number}.txt" if arguments.keep else "gpuprof.txt"
            said, answer, start = run(arguments, os.path.join(folder, name), "--slow-rank", rank, "--slow-from", step,
                                      "--factor", arguments.factor)
            began_ns = int(re.search(r"is slow from (\d+) on$", said, re.M).group(1)) - start
            beside = slow_by_own_clock(said, start, answer) - {str(rank)}
            answer["laggards"] = [one for one in answer["laggards"] if one["rank"] not in beside]
            wrong = what_is_wrong(answer, rank, began_ns)
            found += wrong is None
            if wrong:
                print(f"slow run {number}: {wrong}", flush=True)
            else:
                in_bounds += is_in_bounds(answer, began_ns)
                off.append(abs(answer["laggards"][0]["since_ns"] - began_ns) / 1e9)
            name = f"even{number}.txt" if arguments.keep else "gpuprof.txt"
            said, answer, start = run(arguments, os.path.join(folder, name))
            if answer["verdict"] == "even":
                even += 1
            elif answer["laggards"] and {one["rank"] for one in answer["laggards"]} == slow_by_own_clock(said, start, answer):
                also += 1
            else:
                print(f"even run {number}: {answer['text']}", flush=True)
    if also:
        print(f"in {also} of the even runs a rank was named that was slow by the job's own clock")
    print(f"found {found} of {arguments.runs}; none named in {even} of {arguments.runs} even runs; start within the bounds "
          f"given in {in_bounds} of {found}, off by at most {max(off, default=0):.2f} s", flush=True)
    sys.exit(0 if found == even + also == arguments.runs else 1)


if __name__ == "__main__":
    main()
