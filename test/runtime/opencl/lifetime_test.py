#!/usr/bin/env python3
"""Tests that OpenCL work is recorded whenever a program loads and unloads the OpenCL loader."""

import collections
import os
import re
import shutil

import rig

LOADS = os.path.abspath(os.environ.get("GPUPROF_OPENCL_LOADS", "build/test/unit/opencl_loads"))


class Lifetime(rig.RuntimeTest):
    def launches_of(self, program, *arguments):
        """Returns {kernel: launches} of a recording that must have lost nothing."""
        profile, stderr = self.record([program, *arguments])
        self.assertEqual(profile.end()["lost"], 0, stderr)
        self.assert_conserved(profile)
        counts = collections.Counter()
        for _, _, name, count, _ in profile.gpu():
            counts[name] += count
        self.assertEqual(profile.end()["launches"], sum(counts.values()), stderr)
        return dict(counts)

    @rig.requires("opencl", f"program:{LOADS}")
    def test_each_load_of_the_loader_is_recorded(self):
        linked = self.run_command(["ldd", rig.EXAMPLE]).stdout.decode()
        loader = re.search(r"libOpenCL\.so\.1 => (\S+)", linked).group(1)
        own = os.path.join(self.folder, "libOpenCL.so.1")
        shutil.copy(loader, own)
        self.assertEqual(self.launches_of(LOADS, loader, loader, own, loader, own),
                         {f"load{i}": 20 for i in range(1, 6)})


if __name__ == "__main__":
    rig.main()
