"""Shared code of the Level Zero tests: programs on the driver without a device, and their output."""

import os
import re

import rig

APP = os.environ["MOCK_ZE_APP"]
DRIVER = os.environ["MOCK_ZE_DRIVER"]
SECOND_DRIVER = os.environ["MOCK_ZE_SECOND_DRIVER"]


def function_in(frames, name):
    return any(re.match(rf"(.*::)?({name})\b", frame) for frame in frames)


def launched_from(profile, work):
    """Returns all frames that lead to the work: those of the launch, and those of the append to its list."""
    return profile.frames(work.ustack) + profile.frames(work.capture)


class LevelZeroTest(rig.RuntimeTest):
    def record_command(self, *arguments, faults="", options=(), drivers=(DRIVER,), command=(APP,), expect=0, **variables):
        environment = {**os.environ, "ZE_ENABLE_ALT_DRIVERS": ",".join(drivers), "MOCK_ZE_FAULTS": faults, **variables}
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, *options, "--", *command, *arguments],
                               env=environment)
        self.assertEqual(run.returncode, expect, run.stderr.decode("utf-8", "replace"))
        return run

    def record_app(self, *arguments, **how):
        """Returns (profile, [(site, kind, name, count, ns)] as the program printed them, stderr)."""
        run = self.record_command(*arguments, **how)
        words = [line.split()[1:] for line in run.stdout.decode().splitlines() if line.startswith("expected ")]
        expected = [(site, kind, name.strip("-"), int(count), int(ns)) for site, kind, name, count, ns in words]
        return rig.Profile(self.profile_path), expected, run.stderr.decode("utf-8", "replace")

    def sums(self, profile, expected):
        """Returns {(site, kind, name): [count, ns]}. Sites that are not expected are under None."""
        found = {}
        for work, (count, ns, *_) in profile.measured("GPU"):
            frames = launched_from(profile, work)
            sites = [site for site in {row[0] for row in expected} if function_in(frames, site)]
            known = found.setdefault((sites[0] if len(sites) == 1 else None, work.op, work.name), [0, 0])
            known[0] += count
            known[1] += ns
        return found

    def assert_exact(self, profile, expected, stderr):
        totals = {}
        for site, kind, name, count, ns in expected:
            known = totals.setdefault((site, kind, name), [0, 0])
            known[0] += count
            known[1] += ns
        self.assertEqual(self.sums(profile, expected), totals, stderr)
        self.assert_conserved(profile)
        self.assertEqual(profile.end()["lost"], 0, profile.losses())
        coverage = profile.coverage()
        self.assertEqual(coverage["launches"], coverage["matched"], coverage)
