#!/usr/bin/env python3
"""Sends SIGKILL at random moments to the target, to the recorder, or to a child of the target.

    kill.py [--kills N] [--seed N] [--gpuprof PATH] [--mocks FOLDER] [--opencl PROGRAM] [--last SECONDS]

The target fills memory of the mock GPU. Every few milliseconds it logs the number of fills and the time. After each kill,
every profile must be readable. It may lack at most the work of the last second before the kill, and must not hold more
work than was done. With --last, profiles have only the work of the last seconds (record --last). A target whose recorder is killed must go on. With --opencl, one kill in five hits a program under
PoCL. It writes no log, so its profile must be readable and reach to the last second. One kill in ten may lose up to three
seconds of work, as the machine may be busy. Exit status: 1 if a check fails, 77 if nothing can run here.
"""

import argparse
import collections
import glob
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, "..", "runtime"))
PROCESS_TREE = os.path.join(SOURCE, "examples", "python", "process_tree.py")
SECOND = 1000000000
FILLS = 20  # fills between two log lines
LATE_S = 3


class Broken(Exception):
    pass


class Late(Broken):
    """Raised if a profile lacks more work than a kill may lose on an idle machine."""


def require(condition, text, error=Broken):
    if not condition:
        raise error(text)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def read_log(path):
    """Returns [(CLOCK_MONOTONIC ns, fills done)], without a line that the kill cut off."""
    with open(path, encoding="ascii") as file:
        lines = file.read().split("\n")[:-1]
    return [tuple(map(int, line.split())) for line in lines]


class Try:
    def __init__(self, options, folder, victim, delay):
        self.options, self.folder, self.victim, self.delay = options, folder, victim, delay
        self.profile_path = os.path.join(folder, "profile.txt")
        self.log = os.path.join(folder, "log")
        self.killed_at = 0
        self.loss_s = 0.0

    def command(self):
        way = "endless-child" if self.victim == "child" else "endless"
        return [sys.executable, PROCESS_TREE, way, "--fills", str(FILLS), "--log", self.log]

    def environment(self):
        return {**os.environ, "LD_LIBRARY_PATH": self.options.mocks}

    def start(self):
        # Starts a new session, so that all leftover processes can be ended with it.
        last = ["--last", str(self.options.last)] if self.options.last else []
        return subprocess.Popen([self.options.gpuprof, "record", "-q", "-o", self.profile_path, *last, "--",
                                 *self.command()],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                env=self.environment(), start_new_session=True)

    def run(self):
        recorder = self.start()
        try:
            time.sleep(self.delay)
            self.kill(recorder)
            if self.victim == "recorder":
                self.check_target_goes_on()
                recorder.wait(timeout=30)
            elif self.victim == "child":
                time.sleep(0.7)
                recorder.send_signal(signal.SIGTERM)
                recorder.wait(timeout=30)
            else:
                recorder.wait(timeout=30)
        except subprocess.TimeoutExpired:
            raise Broken(f"the recorder did not end after the {self.victim}'s death") from None
        finally:
            self.end_all(recorder)
        self.check_profile()

    def pids(self):
        """Returns the pids of the processes that log, in ascending order."""
        logs = sorted(glob.glob(self.log + ".*"), key=lambda path: os.stat(path).st_ctime_ns)
        return sorted(int(path.rsplit(".", 1)[1]) for path in logs)

    def kill(self, recorder):
        pids = self.pids()
        if self.victim == "recorder":
            victim = recorder.pid
        elif pids:
            victim = pids[-1]  # the child if one exists, else the first process
        else:
            victim = self.first_child(recorder.pid)
        self.killed_at = time.monotonic_ns()
        if victim:
            os.kill(victim, signal.SIGKILL)

    @staticmethod
    def first_child(pid):
        """Returns the first child of the process, which may not log yet, or None."""
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                children = file.read().split()
        except OSError:
            return None
        return int(children[0]) if children else None

    def check_target_goes_on(self):
        before = {pid: len(read_log(f"{self.log}.{pid}")) for pid in self.pids()}
        time.sleep(0.6)
        import rig
        for pid, lines in before.items():
            require(alive(pid), f"target {pid} died with its recorder")
            require(rig.wait_for(lambda log=f"{self.log}.{pid}", count=lines: len(read_log(log)) > count),
                    f"target {pid} stands still without its recorder")

    def end_all(self, recorder):
        try:
            os.killpg(recorder.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        recorder.communicate()

    def check_profile(self):
        import rig
        logs = {pid: read_log(f"{self.log}.{pid}") for pid in self.pids()}
        early = all(not log or log[0][0] > self.killed_at - SECOND for log in logs.values())
        if not os.path.exists(self.profile_path):
            require(early, "no profile, although the target had been at work for a second")
            return
        self.check_readable()
        profile = rig.Profile(self.profile_path)
        if self.victim != "recorder":
            require(profile.end() is not None, "no END, although the recorder lived")
        pid_of = {row[0]: int(row[1]) for row in profile.of("PROCESS")}
        recorded = collections.Counter()
        for work, numbers in profile.measured("GPU"):
            recorded[pid_of[work.process]] += numbers[0]
        begins = [int(window[0]) for window in profile.of("WINDOW")] or [self.killed_at - self.options.last * SECOND]
        for pid, log in logs.items():
            # With --last, fills before the profile's time may be missing.
            before = max((fills for at, fills in log if at <= begins[0]), default=0) if self.options.last else 0
            self.check_counts(pid, log, recorded[pid], before)

    def check_readable(self):
        import rig
        for command in ("flame", "dump", "report"):
            run = subprocess.run([self.options.gpuprof, command, "-i", self.profile_path], stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True, timeout=60, check=False)
            require(run.returncode in (0, rig.NOTHING),
                    f"gpuprof {command} ended with {run.returncode}: {run.stderr[-300:]}")

    def check_counts(self, pid, log, recorded, before):
        done = [fills for at, fills in log if at <= self.killed_at]
        a_second_before = max((fills for at, fills in log if at <= self.killed_at - SECOND), default=0)
        missing_since = next((at for at, fills in log if fills > before + FILLS + recorded), self.killed_at)
        self.loss_s = max(self.loss_s, (self.killed_at - missing_since) / SECOND)
        require(before + FILLS + recorded >= a_second_before,
                f"process {pid}: {recorded} in the profile, {a_second_before} done a second before the kill: "
                f"{self.loss_s:.2f} s are missing", Late if self.loss_s < LATE_S else Broken)
        if self.victim == "target":
            most = (done[-1] if done else 0) + FILLS
            require(recorded <= most, f"process {pid}: {recorded} in the profile, at most {most} done")


class OpenclTry(Try):
    """Kills a program that loops under PoCL. The program has no log, so its profile must reach to the last second."""

    def command(self):
        return ["sh", "-c", 'while :; do "$0" --launches 200 >/dev/null 2>&1; done', self.options.opencl]

    def environment(self):
        return dict(os.environ)

    def start(self):
        return subprocess.Popen([self.options.gpuprof, "record", "-q", "-o", self.profile_path, "--interval", "0.1",
                                 "--", *self.command()],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                env=self.environment(), start_new_session=True)

    def check_target_goes_on(self):
        time.sleep(0.1)

    def check_profile(self):
        import rig
        if not os.path.exists(self.profile_path):
            require(self.delay < 1, "no profile, although the target had been started a second before")
            return
        self.check_readable()
        profile = rig.Profile(self.profile_path)
        slices = [int(line[0]) for line in profile.of("GPU")]
        if self.delay < 3:
            return  # PoCL may have been compiling until a second before the kill
        meta = profile.meta()
        require(slices, "no work in the profile")
        last = int(meta["start_ns"][0]) + (max(slices) + 1) * int(meta["interval_ns"][0])
        self.loss_s = max((self.killed_at - last) / SECOND, 0.0)
        require(self.loss_s < 1.2, f"the last work is {self.loss_s:.2f} s before the kill",
                Late if self.loss_s < LATE_S else Broken)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--gpuprof", default=os.environ.get("GPUPROF", "build/gpuprof"))
    parser.add_argument("--mocks", default=os.environ.get("MOCK_CUDA_DIR", "build/test/mocks"))
    parser.add_argument("--opencl", default=os.environ.get("GPUPROF_EXAMPLE"), metavar="PROGRAM")
    parser.add_argument("--longest", type=float, default=3.5, help="seconds until the kill, at most")
    parser.add_argument("--last", type=int, default=0, metavar="SECONDS", help="record with --last")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the files of failed tries there")
    options = parser.parse_args()
    options.gpuprof, options.mocks = os.path.abspath(options.gpuprof), os.path.abspath(options.mocks)
    if not os.path.exists(os.path.join(options.mocks, "libcuda.so.1")):
        print(f"skipped: no mock driver in {options.mocks}")
        return 77
    if options.opencl and not os.path.exists(options.opencl):
        options.opencl = None
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    print(f"seed {seed}, PoCL: {options.opencl or 'not tried'}", flush=True)
    return run_all(options, random.Random(seed))


def run_all(options, chance):
    broken, late, losses = 0, 0, collections.defaultdict(list)
    for number in range(options.kills):
        opencl = options.opencl and number % 5 == 4
        victim = ("target", "recorder", "child")[number % 3]
        if opencl and victim == "child":
            victim = "target"
        delay = chance.uniform(0.05, options.longest)
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-kill.")
        attempt = (OpenclTry if opencl else Try)(options, folder.name, victim, delay)
        try:
            attempt.run()
            losses[victim].append(attempt.loss_s)
        except Broken as reason:
            late += isinstance(reason, Late)
            broken += not isinstance(reason, Late)
            what = f"{'PoCL, ' if opencl else ''}{victim} after {delay:.2f} s"
            print(f"{'LATE' if isinstance(reason, Late) else 'FAIL'}  kill {number}, {what}: {reason}", flush=True)
            if options.keep:
                subprocess.run(["cp", "-r", folder.name, os.path.join(options.keep, f"kill-{number}")], check=False)
        folder.cleanup()
        if number % 20 == 19:
            print(f"{number + 1} kills, {broken} broken", flush=True)
    figures = {victim: {"kills": len(values), "longest_loss_s": round(max(values), 3)}
               for victim, values in losses.items()}
    print(json.dumps({"kills": options.kills, "broken": broken, "late": late, "held": figures}))
    return 1 if broken or late > max(2, options.kills / 10) else 0


if __name__ == "__main__":
    sys.exit(main())
