#!/usr/bin/env python3
"""Runs each command on each hostile profile, within limits of memory and time. docs/security.md states the promises."""

import os
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import hostile_profiles
import rig

GIBIBYTE = 1 << 30
SECONDS = 60  # limit for one command on one file; on an idle machine each takes a few seconds
COMMANDS = {
    "flame": ["flame"],
    "flame by": ["flame", "--by", "command,device,stream", "--lines"],
    "svg": ["flame", "--svg", "-"],
    "time series": ["flame", "--time-series", "-"],
    "window": ["flame", "--from", "1s", "--to", "2s"],
    "inverted": ["flame", "--inverted"],
    "inverted svg": ["flame", "--inverted", "--svg", "-"],
    "html": ["flame", "--html", "-"],
    "leaf": ["flame", "--weight", "samples", "--leaf", "function,line,instruction,stall", "--svg", "-"],
    "report": ["report"],
    "report full": ["report", "--full", "--top", "0", "--explain"],
    "report by range": ["report", "--by", "range", "--full"],
    "flame by range": ["flame", "--by", "range"],
    "report all": ["report", "--top", "0", "--json"],
    "latency": ["latency", "--paths", "--top", "0", "--json"],
    "export": ["export", "--format", "chrome"],
    "export perfetto": ["export", "--format", "perfetto"],
    "export sqlite": ["export", "--format", "sqlite"],
    "export pprof": ["export", "--format", "pprof"],
    "export json": ["export", "--format", "json"],
    "export csv": ["export", "--format", "csv"],
    "export speedscope": ["export", "--format", "speedscope"],
    "export folded": ["export", "--format", "folded"],
    "merge": ["merge"],
    "import": ["import"],
    "import folded": ["import", "--folded"],
    "dump": ["dump"],
    "annotate": ["annotate", "--limit", "0"],
    "annotate cpu": ["annotate", "--cpu", "--limit", "0"],
    "diff": ["diff", "--full", "--top", "0"],
    "diff json": ["diff", "--json", "--top", "0"],
    "diff svg": ["diff", "--svg", "-"],
    "ranks": ["ranks", "--by", "pid", "--top", "0"],
    "filter": ["filter", "--kernel", "."],
    "split": ["split", "--by", "device"],
}
# The output may be terabytes: the test reads its beginning and then closes the pipe.
ENDLESS = 4 << 20
CLOSED = {141, -signal.SIGPIPE}  # exit statuses after a closed pipe: a shell's, and the signal itself
ALLOWED = {0, 1, 4} | CLOSED  # success; bad input that the message names; nothing that matches
NO_RANKS = 2
INCONCLUSIVE = 125


class Outcome:
    """Holds how a command ended: exit status, bytes of output read, peak memory in bytes, stderr."""

    def __init__(self, command):
        read_end, write_end = os.pipe()
        with tempfile.TemporaryFile() as errors:
            child = subprocess.Popen([rig.GPUPROF, *command], stdin=subprocess.DEVNULL, stdout=write_end, stderr=errors)
            os.close(write_end)
            self.late = False
            timer = threading.Timer(SECONDS, self._stop, [child])
            timer.start()
            self.read = 0
            while self.read < ENDLESS:
                piece = os.read(read_end, 1 << 20)
                if not piece:
                    break
                self.read += len(piece)
            os.close(read_end)  # the command must end now that its output is closed
            _, status, usage = os.wait4(child.pid, 0)
            timer.cancel()
            child.returncode = os.waitstatus_to_exitcode(status)
            self.status, self.memory = child.returncode, usage.ru_maxrss * 1024
            errors.seek(0)
            self.errors = errors.read(65536).decode("utf-8", "replace")

    def _stop(self, child):
        self.late = True
        os.kill(child.pid, signal.SIGKILL)


class Readers(unittest.TestCase):
    def run_one(self, name, title, inputs):
        """Runs one of COMMANDS on files or a folder. Returns its memory in bytes."""
        command = [*COMMANDS[title], *inputs, *(["--", *inputs] if COMMANDS[title][0] == "diff" else [])]
        with self.subTest(file=name, command=title), tempfile.TemporaryDirectory() as parent:
            if command[0] == "split":
                command += ["-o", os.path.join(parent, "parts")]
            begin = time.monotonic()
            outcome = Outcome(command)
            print(f"{name:22} {title:15} status {outcome.status:4} {outcome.memory >> 20:5} MiB "
                  f"{time.monotonic() - begin:6.1f} s {outcome.read >> 10:7} KiB", flush=True)
            self.assertFalse(outcome.late, "took too long")
            self.assertLess(outcome.memory, GIBIBYTE)
            self.assertIn(outcome.status, ALLOWED | ({NO_RANKS} if command[0] == "ranks" else set()), outcome.errors)
            if outcome.status not in {0} | CLOSED:
                self.assertIn("error", outcome.errors)
            elif command[0] != "split":
                self.assertGreater(outcome.read, 0)

    def run_all(self, name):
        with tempfile.NamedTemporaryFile("w", prefix="gpuprof-hostile-", suffix=".txt") as file:
            file.write(hostile_profiles.ALL[name]())
            file.flush()
            for title in COMMANDS:
                self.run_one(name, title, [file.name])

    def test_many_packed_inputs_are_open_one_at_a_time(self):
        with tempfile.TemporaryDirectory() as folder:
            for i in range(12):
                with open(os.path.join(folder, f"{i}.zst"), "wb") as file:
                    file.write(hostile_profiles.packed(i))
            for title in ("merge", "ranks", "filter", "split"):
                self.run_one("packed", title, [folder])

    def test_the_memory_for_source_files_is_limited(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)  # as root, annotate reads as the user nobody
            with open(os.path.join(folder, "lines.c"), "w", encoding="ascii") as file:
                file.write("\n" * (15 << 20))
            names = [os.path.join(folder, f"{i}.c") for i in range(20)]
            for name in names:
                os.symlink("lines.c", name)
            profile = os.path.join(folder, "gpuprof.txt")
            with open(profile, "w", encoding="ascii") as file:
                file.write(hostile_profiles.launches_from(names))
            self.run_one("sources", "annotate cpu", [profile])

    def test_the_most_texts_that_a_profile_may_have(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(hostile_profiles.texts(990_000))
            file.flush()
            for title in ("svg", "report full", "export sqlite"):
                self.run_one("most texts", title, [file.name])

    def test_many_long_paths_of_ranges(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(hostile_profiles.range_bush(600_000))
            file.flush()
            self.run_one("many ranges", "report by range", [file.name])

    def test_the_runs_of_a_comparison_share_one_limit(self):
        with tempfile.TemporaryDirectory() as folder:
            names = [os.path.join(folder, f"{i}.txt") for i in range(8)]
            for name in names:
                with open(name, "w", encoding="ascii") as file:
                    file.write(hostile_profiles.captures())
            self.run_one("several captures", "diff", names[:4])
            outcome = Outcome(["check", *names[:4], "--", *names[4:]])  # check rejects copies
            self.assertEqual((outcome.late, outcome.status), (False, INCONCLUSIVE), outcome.errors)
            self.assertLess(outcome.memory, GIBIBYTE)

    def test_sums_at_the_end_of_64_bits_are_exact(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(hostile_profiles.huge_numbers())
            file.flush()
            folded = subprocess.run([rig.GPUPROF, "flame", "--unit", "ns", file.name], capture_output=True, text=True,
                                    check=True).stdout
            self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()), (1 << 64) - 2)

    def test_all_paths_that_share_a_deep_stack_are_shown(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(hostile_profiles.stacks_times_parents(20))
            file.flush()
            folded = subprocess.run([rig.GPUPROF, "flame", "--unit", "ns", file.name], capture_output=True, text=True,
                                    check=True).stdout.splitlines()
            stack = ";".join(["f"] * hostile_profiles.DEEP)
            self.assertEqual(folded, sorted(f"p{i};{stack};[unknown]_[G] 1000" for i in range(1, 21)))

    def test_too_many_meta_lines_are_an_error(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(hostile_profiles.too_many_remarks())
            file.flush()
            strict = subprocess.run([rig.GPUPROF, "flame", file.name], capture_output=True, text=True, check=False)
            self.assertEqual(strict.returncode, 1)
            self.assertIn("more than 1000000 META", strict.stderr)
            lenient = subprocess.run([rig.GPUPROF, "flame", "--lenient", file.name], capture_output=True, text=True,
                                     check=False)
            self.assertEqual(lenient.returncode, 0)
            self.assertIn("bad lines skipped: 1", lenient.stderr)


def add_tests():
    for name in hostile_profiles.ALL:
        setattr(Readers, f"test_{name}", lambda self, name=name: self.run_all(name))


add_tests()
if __name__ == "__main__":
    rig.main()
