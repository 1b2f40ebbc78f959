#!/usr/bin/env python3
"""`gpuprof record -p` of a running program of the mock driver: durations, and nothing left behind."""

import json
import os
import re
import signal
import subprocess
import time

import rig

APP = os.environ["MOCK_CUDA_APP"]
MOCKS = os.environ["MOCK_CUDA_DIR"]
LONG = ("--launches", "100000", "--gap-us", "300", "--kernels-only")


def threads(pid):
    return set(os.listdir(f"/proc/{pid}/task"))


class RecordAttach(rig.RuntimeTest):
    def start(self, *arguments, prefix=()):
        process = subprocess.Popen([*prefix, APP, *arguments], env={**os.environ, "LD_LIBRARY_PATH": MOCKS},
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (process.poll() is None and process.kill(), process.wait(), process.stdout.close(),
                                 process.stderr.close()))
        time.sleep(0.7)
        return process

    def record(self, pid, seconds, end=signal.SIGINT):
        """What the recorder said; the profile is at self.profile_path."""
        recorder = subprocess.Popen([rig.GPUPROF, "record", "-p", str(pid), "-o", self.profile_path],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(seconds)
        if end is not None and recorder.poll() is None:
            recorder.send_signal(end)
        _, stderr = recorder.communicate(timeout=60)
        if end != signal.SIGKILL:
            self.assertEqual(recorder.returncode, 0, stderr)
        return stderr

    def assert_durations(self, stderr):
        profile = rig.Profile(self.profile_path)
        end = profile.end()
        self.assertIsNotNone(end, stderr)
        self.assertGreater(end["gpu_records"], 100, stderr)
        # Two of three kernels take 4 us and one 16.
        self.assertTrue(6000 <= end["gpu_ns"] / end["gpu_records"] <= 10000, (end, stderr))
        self.assertGreater(end["with_stack"], end["gpu_records"] * 0.9, stderr)
        return profile

    @rig.requires("root")
    def test_durations_twice_and_a_program_that_goes_on(self):
        process = self.start(*LONG)
        before = threads(process.pid)
        for _ in range(2):
            self.assert_durations(self.record(process.pid, 3))
            time.sleep(0.5)
        self.assertIsNone(process.poll())
        self.assertLessEqual(len(threads(process.pid) - before), 1)  # the mock's own
        folded = rig.parse_folded(self.gpuprof("flame", "-i", self.profile_path, "--unit", "ns"))
        self.assertTrue(any("assemble" in ";".join(frames) for frames, _ in folded))

    @rig.requires("root")
    def test_until_the_program_ends(self):
        process = self.start("--launches", "8000", "--gap-us", "300", "--kernels-only")
        self.assert_durations(self.record(process.pid, 0, end=None))
        stdout, stderr = process.communicate(timeout=30)
        self.assertEqual((process.returncode, stderr), (0, ""))
        self.assertEqual(json.loads(stdout)["launches"], 24000)

    @rig.requires("root")
    def test_a_killed_recorder(self):
        process = self.start(*LONG)
        before = threads(process.pid)
        self.record(process.pid, 2, end=signal.SIGKILL)
        deadline = time.monotonic() + 16
        while len(threads(process.pid) - before) > 1 and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertLessEqual(len(threads(process.pid) - before), 1)
        self.assertIsNone(process.poll())
        self.assert_durations(self.record(process.pid, 3))

    @rig.requires("root", "ebpf", "program:unshare")
    def test_another_network_namespace_is_counted_and_said(self):
        process = self.start(*LONG, prefix=("unshare", "-n"))
        stderr = self.record(process.pid, 2)
        self.assertIn("another network namespace", stderr)
        end = rig.Profile(self.profile_path).end()
        self.assertEqual(end["gpu_ns"], 0)
        self.assertIsNone(re.search("error", stderr))


if __name__ == "__main__":
    rig.main()
