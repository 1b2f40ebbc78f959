#!/usr/bin/env python3
"""Tests `gpuprof record --probe=blocks` on the mock driver, whose PTX kernels run on 4 SMs with 2 blocks each
(test/mocks/mock_cuda_ptx.cpp)."""

import json
import os
import signal
import subprocess
import time

import rig

MOCKS = os.environ["MOCK_CUDA_DIR"]
APP = os.path.join(MOCKS, "mock_blocks_app")


class Probes(rig.RuntimeTest):
    def probe(self, *arguments, options=(), **extra):
        """Returns (report, what gpuprof said)."""
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--probe=blocks", *options, "--", APP, *arguments],
                               env={**os.environ, "LD_LIBRARY_PATH": MOCKS, **extra})
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertEqual(run.returncode, 0, stderr)  # also if a launch had wrong arguments
        done = subprocess.run([rig.GPUPROF, "report", "--json", self.profile_path], stdin=subprocess.DEVNULL,
                              capture_output=True, check=True)
        return json.loads(done.stdout), stderr

    def blocks(self, report):
        return {line["kernel"]: line for line in report.get("blocks", ())}

    def check_scale(self, line, launches=10):
        self.assertEqual((line["launches"], line["blocks"], line["recorded"]), (launches, 9 * launches, 9 * launches))
        self.assertEqual((line["sms"], line["device_sms"], line["max_ns"]), (4, 4, 200000))
        self.assertEqual((line["tail_percent"], line["tail_working_sms"], line["saved_percent"]), (50, 1, 37.5))
        self.assertEqual(line["imbalance_percent"], 60)

    def test_each_launch_has_its_blocks(self):
        for arguments in ((), ("--library",), ("--reset",)):
            with self.subTest(arguments=arguments):
                report, stderr = self.probe(*arguments)
                lines = self.blocks(report)
                self.check_scale(lines["scale"])
                self.assertEqual((lines["copy"]["blocks"], lines["copy"]["recorded"], lines["copy"]["tail_percent"]), (60, 60, 0))
                self.assertIn("lost nothing", stderr)
                # The probe's memory, stream and copies are not the program's.
                kernels = {one["name"]: one["count"] for one in report["work"]}
                self.assertEqual(kernels, {"scale": 10, "copy": 10})
                self.assertEqual(report["allocations"], [])

    def test_only_chosen_kernels_are_probed(self):
        report, _ = self.probe(options=("--kernel", "^scale$"))
        self.assertEqual(set(self.blocks(report)), {"scale"})
        self.check_scale(self.blocks(report)["scale"])

    def test_without_the_option_no_kernel_is_probed(self):
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--", APP], env={**os.environ, "LD_LIBRARY_PATH": MOCKS})
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(self.profile_path, encoding="utf-8") as file:
            self.assertNotIn("probes", file.read())

    def test_code_that_the_driver_refuses_runs_unprobed(self):
        report, stderr = self.probe("--refused")
        self.assertEqual(self.blocks(report), {})
        self.assertIn("1 were refused by the driver's compiler", stderr)
        self.assertEqual(sum(one["count"] for one in report["work"]), 20)

    def test_a_launch_whose_shared_memory_leaves_no_room_runs_unprobed(self):
        report, _ = self.probe("--shared", "65530")
        self.assertEqual(set(self.blocks(report)), {"copy"})
        self.assertEqual({one["name"]: one["count"] for one in report["work"]}, {"scale": 10, "copy": 10})

    def test_launches_without_memory_are_said(self):
        report, stderr = self.probe("--launches", "3000", "--blocks", "5000")
        lines = self.blocks(report)
        self.assertIn("found no free memory for their blocks", stderr)
        self.assertEqual({one["name"]: one["count"] for one in report["work"]}, {"scale": 3000, "copy": 3000})
        self.assertGreater(lines["scale"]["launches"], 300)
        self.assertLess(lines["scale"]["launches"], 3000)
        self.assertEqual(lines["scale"]["recorded"], 5000 * lines["scale"]["launches"])
        self.assertIn("lost nothing", stderr)

    def test_work_that_ends_after_a_pause_begins_is_kept(self):
        # 0.8 s of work are launched at once. CUPTI is detached about 0.5 s later, and delivers then what has ended.
        report, stderr = self.probe("--launches", "1000", options=("--duration", "300ms"))
        delivered = [int(value) for key, values in report["meta"].items() if key.endswith("cupti.valid_records") for value in values]
        self.assertEqual(delivered, [report["gpu_records"]], stderr)
        self.assertGreater(report["gpu_records"], 500)
        self.assertEqual(sum(line["launches"] for line in self.blocks(report).values()), report["gpu_records"])

    def test_launches_outside_of_the_recorded_range_are_not_probed(self):
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--probe=blocks", "--nvtx-range", "step", "--", APP],
                               env={**os.environ, "LD_LIBRARY_PATH": MOCKS})
        self.assertEqual(run.returncode, 0, run.stderr)
        profile = rig.Profile(self.profile_path)
        self.assertEqual((profile.losses(), profile.of("BLOCKS")), ({}, []))

    def test_after_a_pause_no_launch_is_probed(self):
        with subprocess.Popen([rig.GPUPROF, "record", "-o", self.profile_path, "--probe=blocks", "--", APP, "--launches", "2500", "--pause-us", "1000"],
                              env={**os.environ, "LD_LIBRARY_PATH": MOCKS}, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as recorder:
            for wait, number in ((0.6, signal.SIGUSR2), (1.2, signal.SIGUSR1)):
                time.sleep(wait)
                recorder.send_signal(number)
            stderr = recorder.stderr.read()
        self.assertEqual(recorder.returncode, 0, stderr)
        self.assertIn("no launch is probed after recording was switched off", stderr)
        self.assertIn("lost nothing", stderr)
        profile = rig.Profile(self.profile_path)
        self.assertGreater(profile.end()["gpu_records"], sum(int(row[2]) for row in profile.of("BLOCKS")))

    def test_another_occupancy_is_said(self):
        _, stderr = self.probe(MOCK_PROBE_OCCUPANCY="1")
        self.assertIn("changes how many of its blocks fit on an SM from 2 to 1", stderr)

    def test_code_without_ptx_is_said(self):
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--probe=blocks", "--",
                                os.path.join(MOCKS, "mock_cuda_app"), "--launches", "10"],
                               env={**os.environ, "LD_LIBRARY_PATH": MOCKS})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("modules of GPU code that are not probed", run.stderr.decode())


if __name__ == "__main__":
    rig.main()
