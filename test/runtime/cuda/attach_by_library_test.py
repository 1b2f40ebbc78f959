#!/usr/bin/env python3
"""Tests `gpuprof record -p` of a running program on the mock driver: durations, and a clean detach."""

import json
import os
import re
import signal
import subprocess

import rig

APP = os.environ["MOCK_CUDA_APP"]
MOCKS = os.environ["MOCK_CUDA_DIR"]
LONG = ("--launches", "1000000", "--gap-us", "300", "--kernels-only")


class RecordAttach(rig.RuntimeTest):
    def start(self, *arguments):
        process = subprocess.Popen([APP, *arguments], env={**os.environ, "LD_LIBRARY_PATH": MOCKS},
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (process.poll() is None and process.kill(), process.wait(), process.stdout.close(),
                                 process.stderr.close()))
        self.assertTrue(rig.wait_for(lambda: rig.napping(process.pid)))
        return process

    def record(self, pid, records, *options, end=signal.SIGINT):
        """Records the process and returns stderr; the profile is at self.profile_path. Waits for `records` GPU
        records. Then sends the signal `end` to the recorder, or calls `end` if it is a function."""
        if os.path.exists(self.profile_path):
            os.unlink(self.profile_path)
        recorder = subprocess.Popen([rig.GPUPROF, "record", "-p", str(pid), "-o", self.profile_path, *options],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        rig.wait_for(lambda: recorder.poll() is not None or self.has_records(records))
        if callable(end):
            end()
        elif end is not None and recorder.poll() is None:
            recorder.send_signal(end)
        _, stderr = recorder.communicate(timeout=60)
        if end != signal.SIGKILL:
            self.assertEqual(recorder.returncode, 0, stderr)
        return stderr

    def has_records(self, count):
        found = rig.gpu_records(self.profile_path)
        return found is not None and found >= count

    def assert_durations(self, stderr):
        profile = rig.Profile(self.profile_path)
        end = profile.end()
        self.assertIsNotNone(end, stderr)
        self.assertGreater(end["gpu_records"], 100, stderr)
        # Two of three kernels take 4 us, the third takes 16 us: 8 us on average.
        self.assertTrue(6000 <= end["gpu_ns"] / end["gpu_records"] <= 10000, (end, stderr))
        self.assertGreater(end["with_stack"], end["gpu_records"] * 0.9, stderr)
        return profile

    @rig.requires("root")
    def test_a_process_can_be_recorded_twice_and_goes_on(self):
        process = self.start(*LONG)
        before = rig.threads(process.pid)
        for _ in range(2):
            stderr = self.record(process.pid, 10000)
            self.assertIn("target: still running", stderr)
            self.assertEqual(self.assert_durations(stderr).meta()["target.exit_status"], ["still running"])
            # Waits until the library's threads have ended. One new thread remains: that of the mock.
            self.assertTrue(rig.wait_for(lambda: len(rig.threads(process.pid) - before) <= 1))
        self.assertIsNone(process.poll(), "Ctrl-C has reached the target")
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
            self.assertIn("libgpuprof_cupti.so", maps.read(), "docs/cli.md says that the library stays mapped")
        folded = rig.parse_folded(self.gpuprof("flame", "-i", self.profile_path, "--unit", "ns"))
        self.assertTrue(any("assemble" in ";".join(frames) for frames, _ in folded))

    @rig.requires("root")
    def test_a_process_that_replays_graphs_goes_on(self):
        """CUPTI may not be detached from such a process: its next replay would fail. The mock aborts instead."""
        process = self.start("--graph-nodes", "4", "--graph-replays", "1000000", "--gap-us", "300")
        for _ in range(2):
            stderr = self.record(process.pid, 2000)
            self.assertIn("target: still running", stderr)
            self.assertIn("CUPTI stays in the process", stderr)
            self.assertGreater(rig.Profile(self.profile_path).end()["gpu_records"], 2000, stderr)
            self.assertIsNone(process.poll(), "the target has ended")

    @rig.requires("root")
    def test_all_recorded_work_is_inside_the_window(self):
        process = self.start(*LONG)
        stderr = self.record(process.pid, 5000, "--timeline")
        profile = rig.Profile(self.profile_path)
        (begin, end), = [(int(first), int(last)) for first, last in profile.of("WINDOW")]
        starts = [int(row[-2]) for row in profile.of("CALL")]
        self.assertGreater(len(starts), 1000, stderr)
        outside = [start for start in starts if not begin <= start <= end]
        self.assertLessEqual(len(outside), 1, outside)  # a launch may be in progress as the window ends

    @rig.requires("root")
    def test_the_cost_of_the_recorder_is_that_of_the_window(self):
        # The summary states separately what attaching took. In a short window, attaching would make up most of gpuprof's
        # share of a core.
        process = self.start(*LONG)
        stderr = self.record(process.pid, 0, "--duration", "0.3", end=None)
        meta = rig.Profile(self.profile_path).meta()
        wall, cpu = (int(meta[f"overhead.{what}"][0]) for what in ("wall_ns", "recorder_cpu_ns"))
        self.assertGreaterEqual(wall, 300_000_000)
        stated = re.search(r"gpuprof itself ([\d.]+)% of a core", stderr)
        self.assertAlmostEqual(float(stated.group(1)), 100 * cpu / wall, delta=0.1, msg=stderr)
        self.assertRegex(stderr, r"recorded \d+ ms, attaching took \S+ \S+, detaching took \S+ \S+\n")

    @rig.requires("root")
    def test_a_process_can_be_recorded_until_it_ends(self):
        end = os.path.join(self.folder, "end")
        process = self.start("--launches", "1000000000", "--gap-us", "300", "--kernels-only", "--until", end)
        profile = self.assert_durations(self.record(process.pid, 5000, end=lambda: open(end, "x", encoding="ascii").close()))
        self.assertEqual(profile.meta()["target.exit_status"], ["ended, its status is not known"])
        stdout, stderr = process.communicate(timeout=30)
        self.assertEqual((process.returncode, stderr), (0, ""))
        did = json.loads(stdout)
        self.assertEqual(did["launches"], did["total_ops"])
        self.assertGreaterEqual(did["launches"], profile.end()["launches"])

    @rig.requires("root")
    def test_a_process_without_launches_gives_a_message_and_an_empty_profile(self):
        process = self.start("--launches", "10", "--kernels-only", "--sleep-ms", "60000")
        self.assertTrue(rig.wait_for(lambda: rig.napping(process.pid)))
        stderr = self.record(process.pid, 0, "--duration", "0.5", end=None)
        self.assertIn("gpuprof saw no GPU work of the target while recording was on", stderr)
        self.assertRegex(stderr, r"gpuprof: recorded \d+ ms, attaching took [\d.]+ m?s, detaching took [\d.]+ m?s")
        self.gpuprof("flame", "-i", self.profile_path, expect=(rig.NOTHING,))

    @rig.requires("root")
    def test_a_process_can_be_recorded_after_its_recorder_was_killed(self):
        process = self.start(*LONG)
        before = rig.threads(process.pid)
        self.record(process.pid, 1, end=signal.SIGKILL)
        self.assertTrue(rig.wait_for(lambda: len(rig.threads(process.pid) - before) <= 1))
        self.assertIsNone(process.poll())
        self.assert_durations(self.record(process.pid, 10000))


if __name__ == "__main__":
    rig.main()
