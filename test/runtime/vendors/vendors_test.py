#!/usr/bin/env python3
"""Tests `gpuprof record` of programs that use several vendors' GPUs: one profile has exact numbers for each vendor."""

import collections
import json
import os
import re

import rig

ZE_DRIVER = os.environ["MOCK_ZE_DRIVER"]
CASES = ("regular_with_events", "30")
LAUNCHES = ("--launches", "150")


class Vendors(rig.RuntimeTest):
    def record_both(self, *command, options=()):
        """Returns (profile, (count, ns) of the Level Zero part, (count, ns) of the CUDA part)."""
        environment = {**os.environ, "ZE_ENABLE_ALT_DRIVERS": ZE_DRIVER, "LD_LIBRARY_PATH": os.environ["MOCK_CUDA_DIR"]}
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, *options, "--", *command], env=environment)
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertEqual(run.returncode, 0, stderr)
        lines = run.stdout.decode().splitlines()
        numbers = [line.split()[4:6] for line in lines if line.startswith("expected ")]
        self.assertTrue(numbers, lines)
        did = json.loads(next(line for line in lines if line.startswith("{")))
        profile = rig.Profile(self.profile_path)
        self.assert_conserved(profile)
        self.assertEqual(profile.losses(), {}, stderr)
        return profile, (sum(int(count) for count, _ in numbers), sum(int(ns) for _, ns in numbers)), did

    def by_backend(self, profile):
        """Returns {backend: (count, ns)} by the device of the work."""
        text = profile.strings()
        backends = {row[0]: text[row[1]] for row in profile.of("DEVICE")}
        sums = collections.defaultdict(lambda: (0, 0))
        for work, (count, ns, *_) in profile.measured("GPU"):
            known = sums[backends[work.device]]
            sums[backends[work.device]] = (known[0] + count, known[1] + ns)
        return dict(sums)

    def test_one_process_can_use_two_vendors(self):
        for engine in rig.stack_engines():
            with self.subTest(engine=engine):
                profile, ze, cuda = self.record_both(os.environ["TWO_VENDORS"], *CASES, *LAUNCHES,
                                                     options=["--stacks", engine])
                self.assertEqual(self.by_backend(profile),
                                 {"level_zero": ze, "cupti": (cuda["total_ops"], cuda["total_ns"])})
                coverage = profile.coverage()
                self.assertEqual(coverage["launches"], coverage["matched"], coverage)
                self.assertNotIn("without_stack", coverage)
                self.assertEqual(len({work.process for work, _ in profile.measured("GPU")}), 1)
                # Each vendor's work is below its own calls, and not below the other vendor's.
                for work, _ in profile.measured("GPU"):
                    names = " ".join(profile.frames(work.ustack))
                    self.assertIn("main", names)
                    self.assertNotRegex(names, r"ze_main.*cuda_main|cuda_main.*ze_main")

    def test_a_shell_can_run_one_program_per_vendor(self):
        script = "$MOCK_ZE_APP {} & $MOCK_CUDA_APP {} & wait".format(" ".join(CASES), " ".join(LAUNCHES))
        expected = {}
        if "GPUPROF_EXAMPLE" in os.environ and self.has_opencl():
            script += "; $GPUPROF_EXAMPLE >&2"
            expected["opencl"] = None
        profile, ze, cuda = self.record_both("sh", "-c", script)
        found = self.by_backend(profile)
        expected.update({"level_zero": ze, "cupti": (cuda["total_ops"], cuda["total_ns"])})
        if "opencl" in expected:
            expected["opencl"] = found.get("opencl")
            self.assertGreater(found["opencl"][0], 0)
        self.assertEqual(found, expected)
        self.assertEqual(len({work.process for work, _ in profile.measured("GPU")}), len(expected))

    def test_only_named_backends_record(self):
        profile, ze, _ = self.record_both(os.environ["TWO_VENDORS"], *CASES, *LAUNCHES, options=["--backend", "level_zero"])
        self.assertEqual(self.by_backend(profile), {"level_zero": ze})

    def has_opencl(self):
        return bool(re.search(r"^\s+ok +opencl ", self.gpuprof("doctor", expect=(0, 1, 2, 3)), re.M))


if __name__ == "__main__":
    rig.main()
