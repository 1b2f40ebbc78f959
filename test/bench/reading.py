#!/usr/bin/env python3
"""Measures commands that read profiles: least CPU seconds of several runs (all threads, user and system), peak memory.

    test/bench/reading.py --gpuprof build-release/gpuprof --generate build-release/test/bench/generate_profile

generate_profile makes the inputs, which stay in --folder (up to 2 GB). CPU time depends less on other load than elapsed
time, but still does: report how busy the machine was."""
import argparse
import os
import subprocess
import sys

# The values are arguments of generate_profile: records, stacks, kind, places, works.
INPUTS = {
    "gpu": "{n} 10000 gpu",  # ten million rows make a file of 478 MB
    "works": "{n} 10000 gpu 200 {works}",
    "stalls": "{stalls} 200 eustall {places}",
    "stacks": "{stalls} {places} eustall",
}
CASES = [
    ("GPU rows, 10 000 WORKs", "gpu", ["flame"]),
    ("GPU rows, 10 000 WORKs", "gpu", ["flame", "--time-series", "/dev/null"]),
    ("GPU rows, 10 000 WORKs", "gpu", ["report"]),
    ("GPU rows, 10 000 WORKs, two of them", "gpu", ["diff", "{file}"]),
    ("GPU rows, 10 000 WORKs, two of them", "gpu", ["merge", "{file}"]),
    ("GPU rows, a WORK for each ten", "works", ["flame"]),
    ("GPU rows, a WORK for each ten", "works", ["report"]),
    ("EUSTALL rows, one place for each 15, 200 stacks", "stalls", ["flame"]),
    ("EUSTALL rows, one place for each 15, 200 stacks", "stalls", ["report"]),
    ("EUSTALL rows, one stack of 40 frames for each 15", "stacks", ["flame"]),
]


def make_inputs(options):
    sizes = {"n": options.rows, "works": options.rows // 10, "stalls": options.rows * 3 // 10,
             "places": options.rows // 50}
    files = {}
    for name, arguments in INPUTS.items():
        path = os.path.join(options.folder, f"reading-{name}-{options.rows}.txt")
        if not os.path.exists(path):
            with open(path + ".part", "wb") as out:
                subprocess.run([options.generate, *arguments.format(**sizes).split()], stdout=out, check=True)
            os.rename(path + ".part", path)
        files[name] = path
    return files


def run(command):
    """Runs a command, discards its output, and returns (CPU seconds, MiB, status)."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, child.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpuprof", required=True)
    parser.add_argument("--generate", required=True, help="the built generate_profile")
    parser.add_argument("--folder", default="/tmp", help="folder for the inputs (default /tmp)")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    files = make_inputs(options)
    failed = False
    print(f"| what, of {options.rows:,} GPU or {options.rows * 3 // 10:,} EUSTALL rows | CPU time | memory |\n|---|---|---|")
    for what, name, (command, *more) in CASES:
        arguments = [files[name]] + [part.format(file=files[name]) for part in more]
        runs = [run([options.gpuprof, command, *arguments]) for _ in range(options.rounds)]
        bad = [status for _, _, status in runs if status != 0]
        seconds, memory, _ = min(runs)
        failed = failed or bool(bad)
        print(f"| `{' '.join([command, *more[:1]]) if command == 'flame' else command}`: {what} | {f'exit status {bad[0]}' if bad else f'{seconds:.2f} s'} | {memory:.0f} MiB |",
              flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
