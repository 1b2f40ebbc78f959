#!/usr/bin/env python3
"""Tests the recording of SM clocks from the NVML mock, whose failures must not affect the rest of the recording."""

import os
import time

import rig

APP = os.environ["MOCK_CUDA_APP"]
MOCKS = os.environ["MOCK_CUDA_DIR"]


class Clocks(rig.RuntimeTest):
    def record_app(self, nvml):
        environment = {**os.environ, "LD_LIBRARY_PATH": MOCKS, "MOCK_NVML": nvml}
        profile, stderr = self.record([APP, "--launches", "300", "--gap-us", "3000"], env=environment)
        self.assertNotIn("mock_nvml", stderr)
        return profile, {key: values for key, values in profile.meta().items() if "clock_mhz" in key}

    def test_clocks_are_recorded_for_the_device_that_works(self):
        _, clocks = self.record_app("1500 1700")
        self.assertEqual(list(clocks), ["gpu.sm_clock_mhz.0"])
        (values,) = clocks.values()
        samples, mean, least, greatest = map(float, values[0].split())
        self.assertGreaterEqual(samples, 2)
        self.assertEqual((least, greatest), (1500, 1700))
        self.assertTrue(1500 <= mean <= 1700)

    def test_an_nvml_that_refuses_or_hangs_does_not_stop_the_recording(self):
        for nvml in ("refuse", "hang"):
            with self.subTest(nvml=nvml):
                begin = time.monotonic()
                profile, clocks = self.record_app(nvml)
                self.assertEqual(clocks, {})
                self.assertIsNotNone(profile.end())
                self.assertLess(time.monotonic() - begin, 30)


if __name__ == "__main__":
    rig.main()
