#!/usr/bin/env python3
"""Checks what gpuprof must get right, row by row, on the mock driver or on a machine with NVIDIA GPUs.

    matrix.py --on mock                                              (ctest sets where things are)
    matrix.py --on gpu --gpuprof PATH --examples FOLDER [--only ROW ...] [--list]

Prints one line per row: PASS, FAIL with what did not hold, or SKIP with the reason. Exit status 1 if a row fails, 77 if
all are skipped. The number of a row is its topic: 1 kinds of work, 2 graphs, 3 dimensions and weights, 4 processes, 5 long
runs, 6 timeline, 7 latency, 8 NVTX and windows, 9 idle time, 10 attaching, 11 coexistence, 12 trust.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", choices=["mock", "gpu"], required=True)
    parser.add_argument("--gpuprof", default=os.environ.get("GPUPROF", "build/gpuprof"))
    parser.add_argument("--examples", default="build/examples/cuda", help="folder of the built CUDA examples")
    parser.add_argument("--app", default=os.environ.get("MOCK_CUDA_APP", "build/test/mocks/mock_cuda_app"))
    parser.add_argument("--mocks", default=os.environ.get("MOCK_CUDA_DIR", "build/test/mocks"))
    parser.add_argument("--programs",
                        default=os.environ.get("MOCK_PROGRAMS", "build/test/runtime/matrix/mock_programs"))
    parser.add_argument("--only", action="append", metavar="ROW", help="a row's name, or the beginning of one")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the profiles there")
    return parser.parse_args()


class Matrix:
    """What a row (a check of the matrix) works with: the platform's programs, a folder, and methods that record."""

    def __init__(self, platform, folder):
        self.platform, self.folder = platform, folder
        self.count = 0
        self.stacks = rig.why_not("ebpf") is None

    def path(self, name="profile"):
        self.count += 1
        return os.path.join(self.folder, f"{name}-{self.count}.txt")

    def environment(self, program, **changes):
        return measure.environment(**{**self.platform.env, **(program.env if program else {}), **changes})

    def record(self, program, *options, expect=0, timeout=150, env=None):
        path = self.path()
        run = subprocess.run([rig.GPUPROF, "record", "-o", path, *options, "--", *program.command],
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False,
                             env=self.environment(program, **(env or {})))
        stdout, stderr = run.stdout.decode("utf-8", "replace"), run.stderr.decode("utf-8", "replace")
        if expect is not None and run.returncode != expect:
            raise measure.Failed(f"record ended with {run.returncode}, expected {expect}: {stderr[-500:]}")
        return measure.Recording(path, program, stdout, stderr, run.returncode)

    def start(self, program):
        return measure.Running(program.command, self.folder, self.environment(program))

    def start_endless(self, graphs=False):
        """Starts the platform's endless program (with `graphs`, that which replays graphs) and waits until it launches."""
        target = self.start(self.platform.endless_graphs() if graphs else self.platform.endless())
        rig.wait_for(lambda: target.stdout() or rig.napping(target.pid), 10)
        return target

    def start_recording(self, program, *options):
        path = self.path()
        return measure.RunningRecorder([rig.GPUPROF, "record", "-o", path, *options, "--", *program.command],
                                       self.folder, self.environment(program), path, program)

    def attach(self, pid, *options):
        """Starts a recorder that attaches to a process; returns once the process is recorded."""
        path = self.path()
        recorder = measure.RunningRecorder([rig.GPUPROF, "record", "-p", str(pid), "-o", path, *options], self.folder,
                                           self.environment(None), path)
        recorder.wait_for(recorder.begun, "recording of the process")
        return recorder

    def attach_until_end(self, program, target, go):
        """Attaches to a program of start(), lets it go on by creating the file `go`, and records it until its end."""
        recorder = self.attach(target.pid)
        with open(go, "w", encoding="ascii"):
            pass
        measure.require_equal(target.wait(), 0, "the program's exit status")
        recorder.wait()
        return measure.Recording(recorder.path, program, target.stdout(), recorder.stderr(), 0)

    def need_stacks(self):
        if not self.stacks:
            raise measure.Skip(rig.why_not("ebpf"))

    def need_devices(self, count):
        if self.platform.devices() < count:
            raise measure.Skip(f"{self.platform.devices()} GPU here, this row wants {count}")


def out_of_time(_signal, _frame):
    raise measure.Failed("this row took more than four minutes")


def tried(row, matrix):
    """Returns the result of the row. If the row fails, prints the failure and runs the row again, up to `row.tries`
    times in all."""
    for left in reversed(range(row.tries)):
        signal.alarm(240)
        try:
            return row.function(matrix)
        except measure.Failed as reason:
            if left == 0:
                raise
            print(f"again {row.number}.{row.name}  {reason}", flush=True)


def run_row(row, matrix):
    """Returns ("PASS" | "FAIL" | "SKIP", text)."""
    signal.signal(signal.SIGALRM, out_of_time)
    try:
        return "PASS", tried(row, matrix) or ""
    except measure.Skip as reason:
        return "SKIP", str(reason)
    except measure.Failed as reason:
        return "FAIL", str(reason)
    except subprocess.TimeoutExpired as error:
        return "FAIL", f"timed out after {error.timeout} s: {error.cmd}"
    except Exception:
        return "FAIL", "".join(traceback.format_exc(limit=-3)).strip()
    finally:
        signal.alarm(0)


def selected(row, options):
    if row.only not in (None, options.on):
        return False
    return not options.only or any(f"{row.number}.{row.name}".startswith(name) or row.name.startswith(name)
                                   for name in options.only)


def main(options):
    rows = [row for row in registry.rows() if selected(row, options)]
    if options.list:
        for row in rows:
            print(f"{row.number}.{row.name}")
        return 0
    if options.on == "gpu":
        platform = platforms.Gpu(options.examples)
    else:
        platform = platforms.Mock(options.app, options.mocks, options.programs)
    missing = platform.missing()
    if missing:
        print(f"matrix: {missing}")
        return 1
    states = []
    for row in rows:
        with tempfile.TemporaryDirectory(prefix="gpuprof-matrix.") as folder:
            if options.keep:
                folder = os.path.join(os.path.abspath(options.keep), f"{row.number}.{row.name}")
                os.makedirs(folder, exist_ok=True)
            begin = time.monotonic()
            state, text = run_row(row, Matrix(platform, folder))
            states.append(state)
            print(f"{state}  {row.number}.{row.name}  {time.monotonic() - begin:.1f} s  {text}".rstrip(), flush=True)
    print(f"matrix on {options.on}: {states.count('PASS')} passed, {states.count('FAIL')} failed, "
          f"{states.count('SKIP')} skipped")
    if "FAIL" in states:
        return 1
    return 0 if "PASS" in states else rig.SKIPPED


if __name__ == "__main__":
    OPTIONS = parse_arguments()
    os.environ["GPUPROF"] = os.path.abspath(OPTIONS.gpuprof)
    # These imports follow the environment changes: rig reads the environment on import.
    import measure  # noqa: E402
    import platforms  # noqa: E402
    import registry  # noqa: E402
    import rig  # noqa: E402
    sys.exit(main(OPTIONS))
