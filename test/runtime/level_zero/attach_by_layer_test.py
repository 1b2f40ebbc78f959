#!/usr/bin/env python3
"""Tests record -p of a Level Zero process whose loader can enable the tracing layer at run time. Work on
objects made before the attach is recorded like other work, and the detach does not disturb the process."""

import ctypes
import os
import signal
import subprocess
import sys
import unittest

import rig
import ze_rig

FLUSHER = "gpuprof-flush"


def can_attach():
    return hasattr(ctypes.CDLL("libze_loader.so.1"), "zelEnableTracingLayer")


@unittest.skipUnless(can_attach(), "this loader can be traced from the start only: zelEnableTracingLayer came with 1.17")
class AttachByLayer(ze_rig.LevelZeroTest):
    def setUp(self):
        super().setUp()
        self.target = None

    def tearDown(self):
        if self.target is not None and self.target.poll() is None:
            self.target.kill()
            self.target.wait()
        super().tearDown()

    def has_flusher(self):
        tasks = f"/proc/{self.target.pid}/task"
        for task in os.listdir(tasks):
            try:
                with open(f"{tasks}/{task}/comm", encoding="utf-8") as name:
                    if name.read().startswith(FLUSHER):
                        return True
            except FileNotFoundError:
                pass
        return False

    def start(self, *arguments, **variables):
        self.target = subprocess.Popen([ze_rig.APP, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                       env={**os.environ, "ZE_ENABLE_ALT_DRIVERS": ze_rig.DRIVER, **variables})
        self.assertEqual(self.target.stdout.readline(), "ready\n")

    def attach_only(self):
        return subprocess.Popen([rig.GPUPROF, "record", "-p", str(self.target.pid), "-o", self.profile_path],
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def attach(self):
        recorder = self.attach_only()
        self.assertTrue(rig.wait_for(lambda: self.has_flusher() or recorder.poll() is not None))
        self.assertIsNone(recorder.poll(), recorder.stderr.read() if recorder.poll() is not None else "")
        return recorder

    def go_on(self):
        self.target.stdin.write("go\n")
        self.target.stdin.flush()

    @rig.requires("root")
    def test_a_running_process_is_recorded_with_times(self):
        for by_handle in ("0", "1"):
            with self.subTest(by_handle=by_handle):
                self.start("attached", "20", ZE_ENABLE_LOADER_DRIVER_DDI_PATH=by_handle, MOCK_ZE_FAULTS="lenient")
                recorder = self.attach()
                self.go_on()
                lines = iter(self.target.stdout.readline, "done\n")
                words = [line.split()[1:] for line in lines]
                recorder.send_signal(signal.SIGINT)
                _, stderr = recorder.communicate(timeout=60)
                self.assertEqual(recorder.returncode, 0, stderr)
                self.go_on()
                self.target.communicate(timeout=60)
                self.assertEqual(self.target.returncode, 0, stderr)

                profile = rig.Profile(self.profile_path)
                expected = [(site, kind, name, int(count), int(ns)) for site, kind, name, count, ns in words]
                totals = {row[:3]: list(row[3:]) for row in expected}
                self.assertEqual(self.sums(profile, expected), totals, stderr)
                self.assert_conserved(profile)
                # The command list filled before the attach runs 20 times. Its content is unknown, so its work has no times.
                self.assertEqual(profile.losses(), {"no_timing": 20}, stderr)
                self.assertEqual(profile.coverage()["launches"], 80, stderr)

    @rig.requires("root")
    def test_a_process_can_be_recorded_twice(self):
        self.start("attached", "5", MOCK_ZE_FAULTS="lenient")
        recorder = self.attach()
        recorder.send_signal(signal.SIGINT)
        _, stderr = recorder.communicate(timeout=60)
        self.assertTrue(rig.wait_for(lambda: not self.has_flusher()), stderr)
        recorder = self.attach()
        self.go_on()
        self.assertTrue(any(line == "done\n" for line in iter(self.target.stdout.readline, "")))
        self.go_on()
        self.target.communicate(timeout=60)
        _, stderr = recorder.communicate(timeout=60)
        self.assertEqual((self.target.returncode, recorder.returncode), (0, 0), stderr)
        profile = rig.Profile(self.profile_path)
        # Each of five rounds makes five launches that have times. It also executes the command list that was filled before the
        # attach, whose work has no times.
        self.assertEqual(sum(row[3] for row in profile.gpu()), 5 * 5, stderr)
        self.assertEqual(profile.losses(), {"no_timing": 5}, stderr)

    @rig.requires("root")
    def test_a_process_can_be_recorded_before_it_initializes_level_zero(self):
        script = ("import ctypes, sys; loader = ctypes.CDLL('libze_loader.so.1'); print('ready', flush=True); "
                  "sys.stdin.readline(); sys.exit(loader.zeInit(0))")
        self.target = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True, env={**os.environ, "ZE_ENABLE_ALT_DRIVERS": ze_rig.DRIVER})
        self.assertEqual(self.target.stdout.readline(), "ready\n")
        recorder = self.attach_only()
        self.assertTrue(rig.wait_for(lambda: rig.has_line(self.profile_path, "META") or recorder.poll() is not None))
        self.go_on()
        self.target.communicate(timeout=60)
        _, stderr = recorder.communicate(timeout=60)
        self.assertEqual((self.target.returncode, recorder.returncode), (0, 0), stderr)
        self.assertIn("has not initialized Level Zero yet", stderr)


if __name__ == "__main__":
    rig.main()
