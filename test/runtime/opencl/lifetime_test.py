#!/usr/bin/env python3
"""Tests that OpenCL work is recorded after each load of the OpenCL loader, and until the last destructor."""

import collections
import os
import re
import shutil
import tempfile

import rig

LOADS = os.path.abspath(os.environ.get("GPUPROF_OPENCL_LOADS", "build/test/unit/opencl_loads"))
EXIT = os.path.abspath(os.environ.get("GPUPROF_OPENCL_EXIT", "build/test/unit/opencl_exit"))
UNFINISHED = os.path.abspath(os.environ.get("GPUPROF_OPENCL_UNFINISHED", "build/test/unit/opencl_unfinished"))
# One launch of each kernel, and two writes, come before those at the program's places.
PLACES = {"in_main": 6, "in_late_handler": 11, "in_early_handler": 21, "in_destructor": 31, "endless": 1, "copy_htod": 2}


class Lifetime(rig.RuntimeTest):
    def launches_of(self, program, *arguments, options=(), unfinished=0):
        """Returns {kernel: launches} of a recording that lacks the work of `unfinished` launches."""
        profile, stderr = self.record([program, *arguments], options)
        self.assert_conserved(profile)
        counts = collections.Counter()
        for _, op, name, count, _ in profile.gpu():
            counts[name if op == "kernel" else op] += count
        self.assertEqual(profile.end()["launches"], sum(counts.values()) + unfinished, stderr)
        self.assertEqual("lost nothing" in stderr, unfinished == 0, stderr)
        self.assertNotIn("held the end", stderr)
        return dict(counts)

    @rig.requires("opencl", f"program:{LOADS}")
    def test_each_load_of_the_loader_is_recorded(self):
        linked = self.run_command(["ldd", rig.EXAMPLE]).stdout.decode()
        loader = re.search(r"libOpenCL\.so\.1 => (\S+)", linked).group(1)
        own = os.path.join(self.folder, "libOpenCL.so.1")
        shutil.copy(loader, own)
        self.assertEqual(self.launches_of(LOADS, loader, loader, own, loader, own),
                         {f"load{i}": 20 for i in range(1, 6)})

    @rig.requires("opencl", f"program:{EXIT}")
    def test_launches_are_recorded_until_the_last_destructor(self):
        for engine in rig.stack_engines():
            with self.subTest(engine=engine):
                self.assertEqual(self.launches_of(EXIT, options=["--stacks", engine]),
                                 {**PLACES, "at_unload": 41})
                stacks = self.folded("--weight", "count")
                self.assertEqual(sum(count for frames, count in stacks if any("unloaded" in frame for frame in frames)), 40)

    @rig.requires("opencl", f"program:{EXIT}")
    def test_work_that_runs_at_the_end_of_the_process_is_lost(self):
        self.assertEqual(self.launches_of(EXIT, "--at-once", unfinished=1), {**PLACES, "at_unload": 1})

    def record_unfinished(self, *arguments):
        """Records a program that returns from main() with unfinished work. Returns (Profile, stderr)."""
        # PoCL's threads can crash in such a program, also without gpuprof: about one run in 60.
        for _ in range(5):
            cache = tempfile.mkdtemp(dir=self.folder)  # empty, so that PoCL compiles the kernel
            run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--", UNFINISHED, *arguments],
                                   env={**os.environ, "POCL_CACHE_DIR": cache})
            if run.returncode == 0:
                self.assertEqual(run.stdout, b"returned\n")
                return rig.Profile(self.profile_path), run.stderr.decode()
        self.fail(f"five runs failed, the last with status {run.returncode}: {run.stderr.decode()}")

    @rig.requires("opencl", f"program:{UNFINISHED}")
    def test_a_program_with_unfinished_work_ends_as_without_gpuprof(self):
        profile, stderr = self.record_unfinished()
        self.assertEqual(profile.end()["launches"], 1, stderr)
        # On a busy machine, compiling the kernel may take longer than gpuprof waits.
        self.assertEqual(profile.end()["gpu_records"] + profile.losses()["unfinished"], 1, stderr)

    @rig.requires("opencl", f"program:{UNFINISHED}")
    def test_the_end_of_a_program_is_held_for_half_a_second_and_the_profile_says_so(self):
        profile, stderr = self.record_unfinished("--endless")
        self.assertEqual(profile.losses()["unfinished"], 1, stderr)
        held = re.search(r"held the end of the process for (\S+) s,", stderr)
        self.assertIsNotNone(held, stderr)
        self.assertIn(held.group(0), self.gpuprof("report", self.profile_path))
        self.assertGreaterEqual(float(held.group(1)), 0.5)
        self.assertLess(float(held.group(1)), 0.9)  # on a busy machine, the last nap takes longer


if __name__ == "__main__":
    rig.main()
