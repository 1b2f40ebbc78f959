#!/usr/bin/env python3
"""Runs the unit tests of an aarch64 build under QEMU's user mode, without those of not_under_qemu.txt.

    run_under_qemu.py BUILD [--jobs N] [PROGRAM ...]     PROGRAM: a part of a name, such as record

Prints what it leaves out, and a line for each program. Exit status: 0 all passed, 1 a test failed, 77 skipped (prints why).
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
IN_ROOT = HERE.parent.parent / "scripts/in-root-aarch64"
SLOWEST_FIRST = ["analyze", "record", "injection", "profile", "unwind"]
LIMIT_SECONDS = 600


def in_root(*command):
    return subprocess.run([IN_ROOT, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, errors="replace", timeout=LIMIT_SECONDS, check=False)


def exclusions():
    """Returns {program: {test: reason}}."""
    found = {}
    for line in (HERE / "not_under_qemu.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            program, test, reason = (part.strip() for part in line.split("|"))
            found.setdefault(program, {})[test] = reason
    return found


def as_pattern(test):
    """Returns a line of Catch's --input-file."""
    return re.sub(r"([\\,\[\]\"])", r"\\\1", test)


def run(program, left_out):
    """Returns (text to print, whether all tests passed)."""
    begin = time.monotonic()
    name = program.name.removeprefix("unit_")
    listed = in_root(program, "--list-test-names-only").stdout.splitlines()
    names = [line.strip() for line in listed if line.strip()]
    if unknown := set(left_out) - set(names):
        return f"{name}: not_under_qemu.txt names tests that do not exist: {'; '.join(sorted(unknown))}", False
    wanted = program.with_suffix(".under_qemu")
    wanted_names = [test for test in names if test not in left_out]
    wanted.write_text("".join(as_pattern(test) + "\n" for test in wanted_names), encoding="utf-8")
    done = in_root(program, "--input-file", wanted)
    lines = done.stdout.splitlines()
    summary = next((line for line in reversed(lines) if line.startswith(("All tests passed", "test cases:"))), "no result")
    count = re.search(r"in (\d+) test case|test cases: +(\d+)", summary)
    ran = int(count.group(1) or count.group(2)) if count else 0
    text = f"{name}: {summary}, {len(left_out)} left out ({time.monotonic() - begin:.0f} s)"
    if done.returncode != 0:
        text += f", status {done.returncode}\n" + "\n".join(lines[-80:])
    if ran != len(wanted_names):
        text += f"\n{name}: {len(wanted_names)} tests were wanted, but {ran} ran"
    return text, done.returncode == 0 and ran == len(wanted_names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_intermixed_args()
    probe = in_root("/bin/true")
    if probe.returncode != 0:
        print(probe.stdout.strip())
        return 77 if probe.returncode == 77 else 1
    programs = [path for path in (options.build / "test/unit").glob("unit_*")
                if not path.suffix and os.access(path, os.X_OK) and path.is_file()
                and (not options.programs or any(part in path.name for part in options.programs))]
    if not programs:
        print(f"no unit test in {options.build}")
        return 1
    left_out = exclusions()
    names = [path.name.removeprefix("unit_") for path in programs]
    for reason in sorted({reason for name in names for reason in left_out.get(name, {}).values()}):
        tests = [f"{name}: {test}" for name in names for test, why in left_out.get(name, {}).items() if why == reason]
        print(f"left out, {reason}:\n  " + "\n  ".join(tests))
    order = sorted(zip(names, programs),
                   key=lambda one: SLOWEST_FIRST.index(one[0]) if one[0] in SLOWEST_FIRST else len(SLOWEST_FIRST))
    good = True
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in concurrent.futures.as_completed(
                [pool.submit(run, path.resolve(), left_out.get(name, {})) for name, path in order]):
            text, passed = result.result()
            print(text, flush=True)
            good = good and passed
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
