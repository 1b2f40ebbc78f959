#!/usr/bin/env python3
"""Tests that the recorder keeps its memory limit, whatever targets send, and that an honest process loses nothing."""

import gc
import json
import os
import shutil
import signal
import subprocess
import time

import floods
import rig
import strangers
import wire_layout

gc.disable()  # collecting would only cost time: profiles have millions of objects and no cycles

MOST_MIB = 512  # the limit in docs/cli.md
MOST_WRITTEN_MIB = 256 + 8  # the limit for texts of processes, and GPU work


def peak_mib(pid):
    """Returns the peak memory of a process, or 0 if it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            rows = dict(line.split(":", 1) for line in file)
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(rows["VmHWM"].split()[0]) // 1024 if "VmHWM" in rows else 0


def kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Budgets(rig.RuntimeTest):
    def flood(self, kind, amount, *options):
        """Records a flood. Returns (profile, stderr, what the honest process did)."""
        scratch = strangers.Scratch()
        self.addCleanup(scratch.cleanup)
        program = shutil.copy(floods.__file__, scratch.name)
        shutil.copy(wire_layout.__file__, scratch.name)
        command = [rig.GPUPROF, "record", "--stacks=inproc", "--user", strangers.stranger().name, "-o", self.profile_path,
                   *options, "--", strangers.sys_python(), program, kind, str(amount)]
        peak = 0
        with subprocess.Popen(command, cwd=scratch.name, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, start_new_session=True) as recorder:
            try:
                deadline = time.monotonic() + 120
                while recorder.poll() is None and time.monotonic() < deadline:
                    peak = max(peak, peak_mib(recorder.pid))
                    if peak > 2 * MOST_MIB:
                        break
                    time.sleep(0.02)
                ended = recorder.poll() is not None
            finally:
                kill_group(recorder.pid)
            stdout, stderr = (text.decode("utf-8", "replace") for text in recorder.communicate())
        self.assertGreater(peak, 0)
        self.assertLess(peak, MOST_MIB, f"MiB at most; stderr: {stderr}")
        self.assertTrue(ended, f"the recorder did not come to its end; stderr: {stderr}")
        self.assertEqual(recorder.returncode, 0, stderr)
        return rig.Profile(self.profile_path), stderr, json.loads(stdout)

    def assert_sound(self, profile, honest):
        """Checks that the profile is complete, and has all work of the honest process."""
        end = profile.end()
        self.assertIsNotNone(end)
        self.assertEqual(end["lost"], sum(profile.losses().values()))
        self.gpuprof("report", "-i", self.profile_path)
        self.assert_conserved(profile)
        by_name = {name: [0, 0] for name in floods.KERNELS}
        for work, numbers in profile.measured("GPU"):
            if work.name in by_name:
                by_name[work.name][0] += numbers[0]
                by_name[work.name][1] += numbers[1]
        each = honest["records"] // len(floods.KERNELS)
        self.assertGreater(each, 0)
        self.assertEqual(by_name, {name: [each, each * floods.WORK_NS] for name in floods.KERNELS})

    def assert_told(self, profile, stderr):
        self.assertGreater(profile.losses()["memory_limit"], 0, stderr)
        self.assertIn("memory limit", stderr)

    @strangers.needed
    def test_distinct_deep_stacks_stay_within_the_memory_limit(self):
        profile, stderr, honest = self.flood("stacks", 320)
        self.assert_sound(profile, honest)
        self.assert_told(profile, stderr)

    @strangers.needed
    def test_distinct_long_names_stay_within_the_memory_limit(self):
        profile, stderr, honest = self.flood("names", 250)
        self.assert_sound(profile, honest)
        self.assert_told(profile, stderr)

    @strangers.needed
    def test_floods_of_all_kinds_stay_within_the_memory_limit(self):
        profile, stderr, honest = self.flood("everything", 300)
        self.assert_sound(profile, honest)
        self.assert_told(profile, stderr)

    @strangers.needed
    def test_samples_of_a_kernel_that_ran_very_often_do_not_stop_the_recorder(self):
        profile, _, honest = self.flood("samples", 100, "--pc-sampling")
        self.assert_sound(profile, honest)

    @strangers.needed
    def test_remarks_of_endless_connections_do_not_fill_the_disk(self):
        profile, stderr, honest = self.flood("reconnects", 400)
        size = os.path.getsize(self.profile_path)
        self.assertLess(size, MOST_WRITTEN_MIB << 20, stderr)
        self.assertGreater(size, MOST_WRITTEN_MIB << 19, "the flood was too small")
        self.assert_sound(profile, honest)
        self.assert_told(profile, stderr)

    @strangers.needed
    def test_many_processes_with_full_rings_are_all_recorded(self):
        # Each of the 24 processes owns 32 MiB of rings.
        profile, _, honest = self.flood("processes", 24)
        self.assert_sound(profile, honest)
        self.assertGreaterEqual(len(profile.processes()), 25)


if __name__ == "__main__":
    rig.main()
