#!/usr/bin/env python3
"""Tests record -p of a Level Zero process without the layer: launches are counted per stack, without times."""

import ctypes
import os
import subprocess
import unittest

import rig

APP = os.environ["MOCK_ZE_APP"]
DRIVER = os.environ["MOCK_ZE_DRIVER"]
LAUNCHES = 100


@unittest.skipIf(hasattr(ctypes.CDLL("libze_loader.so.1"), "zelEnableTracingLayer"),
                 "this loader can be traced in a running process: attach_by_layer_test.py")
class Attach(rig.RuntimeTest):
    @rig.requires("ebpf")
    def test_launches_are_counted_exactly(self):
        target = subprocess.Popen([APP, "ready", str(LAUNCHES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True, env={**os.environ, "ZE_ENABLE_ALT_DRIVERS": DRIVER})
        self.assertEqual(target.stdout.readline(), "ready\n")
        recorder = subprocess.Popen([rig.GPUPROF, "record", "-p", str(target.pid), "-o", self.profile_path],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # Waits for the profile's final name: the profile gets it once the probes are set.
        self.assertTrue(rig.wait_for(lambda: os.path.exists(self.profile_path) or recorder.poll() is not None))
        target.stdin.write("go\n")
        target.stdin.flush()
        # The recorder can read function names only while the process exists. So the process must wait until the profile
        # has a stack.
        self.assertTrue(rig.wait_for(lambda: rig.has_line(self.profile_path, "USTACK")))
        target.communicate(timeout=60)
        _, stderr = recorder.communicate(timeout=60)
        self.assertEqual((target.returncode, recorder.returncode), (0, 0), stderr)
        folded = rig.parse_folded(self.gpuprof("flame", "-i", self.profile_path))
        for site in ("assemble", "solve"):
            counted = sum(count for frames, count in folded if any(f"::{site}(" in frame for frame in frames))
            self.assertEqual(counted, LAUNCHES, stderr)
        self.assertIn("launches are only counted, without GPU times: the process uses level_zero", stderr)


if __name__ == "__main__":
    rig.main()
