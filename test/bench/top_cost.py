#!/usr/bin/env python3
"""Measures what `record --top` costs the target when it draws: runs a program natively, recorded, and recorded with --top, in
turns on a pseudo-terminal. Compares the 10th percentiles of the program's step times.

    test/bench/top_cost.py --gpuprof build/gpuprof [--rounds N] -- COMMAND

COMMAND prints "10th percentile X" (examples/cuda/launch_loop.cu does).
"""

import argparse
import fcntl
import os
import pty
import re
import statistics
import struct
import sys
import tempfile
import termios

DRAWN = "call path"  # the screen of --top contains this text


def run(command):
    pid, master = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.execvp(command[0], command)
    parts = []
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:  # no process has the terminal open
            data = b""
        if not data:
            break
        parts.append(data)
    os.close(master)
    text = b"".join(parts).decode("utf-8", "replace")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        sys.exit(f"top_cost: {command[:4]} ended with {status}: {text[-300:]}")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpuprof", required=True)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    figures = {"native": [], "record": [], "record --top": []}
    drawings = 0
    with tempfile.TemporaryDirectory(prefix="gpuprof-top.") as scratch:
        record = [options.gpuprof, "record", "-q", "-o", os.path.join(scratch, "profile.txt")]
        order = [("native", []), ("record", [*record, "--"]), ("record --top", [*record, "--top", "--"])]
        for _ in range(options.rounds):
            for name, before in order:
                text = run([*before, *options.command])
                found = re.search(r"10th percentile ([0-9.]+)", text)
                if not found:
                    sys.exit(f"top_cost: no 10th percentile: {text[-300:]}")
                figures[name].append(float(found.group(1)))
                drawn = text.count(DRAWN)
                if (drawn > 0) != (name == "record --top"):
                    sys.exit(f"top_cost: {name} has drawn {drawn} times")
                drawings += drawn
            order = order[1:] + order[:1]
    for name, values in figures.items():
        print(f"{name:14} least {min(values):10.3f}  median {statistics.median(values):10.3f}  "
              f"{min(values) / min(figures['record']):.3f}x of record (medians {statistics.median(values) / statistics.median(figures['record']):.3f}x)")
    print(f"{options.rounds} rounds, drawn {drawings} times")


if __name__ == "__main__":
    main()
