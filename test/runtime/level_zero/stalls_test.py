#!/usr/bin/env python3
"""Tests EU stalls from Level Zero metrics: each sample of the driver is in the profile, with its kernel, offset and launch
path. If something is unavailable, one line says so, and the rest of the recording is unaffected."""

import collections
import os
import re
import signal
import subprocess
import time

import rig
import ze_rig
from ze_rig import APP, DRIVER, SECOND_DRIVER, function_in

# Samples that each launch leaves in the test driver, as {kernel: {(offset, reason): samples}}.
LEAVES = {"light": {(0x10, "active"): 1, (0x10, "sbid"): 3, (0x38, "send"): 2},
          "heavy": {(0x40, "active"): 4, (0x40, "dist_acc"): 4, (0x40, "sync"): 1, (0x48, "sbid"): 10}}
SITES = ("relax", "smooth")
PERIOD_NS = 7 * 251 * 52  # the longest period of the driver
REFUSALS = {"stalls_absent": "offers no EU stall sampling for this GPU.*observation_paranoid",
            "stalls_denied": "only administrators.*run as root.*observation_paranoid",
            "stalls_busy": "another tool.*samples this GPU",
            "stalls_no_library": "lacks a library for its metrics.*install"}


class Stalls(ze_rig.LevelZeroTest):
    def record_stalls(self, case, count, faults="", drivers=(DRIVER,), **how):
        options = ("--stalls", *how.pop("options", ()))
        return self.record_app(case, str(count), faults=faults, drivers=drivers, options=options, **how)

    def samples(self, profile):
        """Returns {(site, device, kernel, offset, reason): count}, and the same for estimated samples."""
        text = profile.strings()
        places = {row[0]: row[1:] for row in profile.of("GPU_PLACE")}
        devices = {row[0]: text[row[3]] for row in profile.of("DEVICE")}
        sums, estimated = collections.Counter(), set()
        for row in profile.of("EUSTALL"):
            work = profile.works[row[1]]
            sites = [site for site in SITES if function_in(profile.frames(work.ustack), site)]
            place = places.get(row[2])
            key = (sites[0] if len(sites) == 1 else None, devices.get(work.device), work.name,
                   int(place[2], 0) if place else None, text[row[3]])
            sums[key] += int(row[5])
            if row[6] != "0":
                estimated.add(key)
        return dict(sums), estimated

    def expected(self, launched):
        """Returns the samples to expect. `launched`: {(site, device, kernel): launches}."""
        return {(site, device, kernel, offset, reason): count * launches
                for (site, device, kernel), launches in launched.items()
                for (offset, reason), count in LEAVES[kernel].items()}

    def assert_samples(self, profile, launched, stderr):
        found, estimated = self.samples(profile)
        self.assertEqual(found, self.expected(launched), stderr)
        self.assertEqual(estimated, set(), stderr)
        self.assertEqual(profile.end()["samples"], sum(found.values()))
        self.assertEqual(profile.losses(), {}, stderr)

    def test_samples_of_two_kernels_have_their_call_paths(self):
        profile, _, stderr = self.record_stalls("stalls", 40)
        self.assert_samples(profile, {("relax", "mock GPU 0", "light"): 40, ("smooth", "mock GPU 0", "heavy"): 40}, stderr)
        self.assertEqual(sum(row[3] for row in profile.gpu()), 80, "sampling changes no GPU record")
        self.assert_works_differ(profile)
        self.assertEqual([profile.strings()[row[2]] for row in profile.of("SAMPLING")], ["ns"])
        self.assertEqual({int(row[1]) for row in profile.of("SAMPLING")}, {PERIOD_NS})
        # The numbers below were calculated by hand: 40 * 6 samples of `light`, and 40 * 19 of `heavy`.
        by_reason = collections.Counter()
        for frames, count in rig.parse_folded(self.gpuprof("flame", "-i", self.profile_path, "--weight", "samples",
                                                           "--leaf", "stall")):
            kernel = next(name for name in LEAVES if f"{name}_[G]" in frames)
            site, = [site for site in SITES if function_in(frames, site)]
            by_reason[site, kernel, frames[-1]] += count
        self.assertEqual(by_reason, {("relax", "light", "active_[g]"): 40, ("relax", "light", "sbid_[g]"): 120,
                                     ("relax", "light", "send_[g]"): 80, ("smooth", "heavy", "active_[g]"): 160,
                                     ("smooth", "heavy", "dist_acc_[g]"): 160, ("smooth", "heavy", "sync_[g]"): 40,
                                     ("smooth", "heavy", "sbid_[g]"): 400})

    def test_samples_are_apportioned_among_two_call_paths_by_time(self):
        profile, _, stderr = self.record_stalls("stalls_shared", 40)
        found, estimated = self.samples(profile)
        self.assertEqual(set(found), estimated, stderr)
        for (offset, reason), count in LEAVES["light"].items():
            parts = [found.get((site, "mock GPU 0", "light", offset, reason), 0) for site in SITES]
            self.assertEqual(sum(parts), 160 * count, stderr)
            # The first site makes one of four launches in a round. Its share of the
            # samples varies if samples are read in the middle of a round.
            self.assertAlmostEqual(parts[0], 40 * count, delta=8 * count, msg=stderr)
        self.assertEqual(profile.losses(), {}, stderr)

    def test_devices_with_different_code_at_equal_addresses_are_kept_apart(self):
        # A launch on the complete second device runs on both sub-devices, and each of them is sampled.
        profile, _, stderr = self.record_stalls("stalls_devices", 20)
        self.assert_samples(profile, {("relax", "mock GPU 0", "light"): 20, ("smooth", "mock GPU 1", "heavy"): 40,
                                      ("smooth", "mock GPU 1, sub-device 1", "light"): 20}, stderr)

    def test_samples_from_several_reads_add_up(self):
        profile, _, stderr = self.record_stalls("stalls_slowly", 5)
        self.assert_samples(profile, {("relax", "mock GPU 0", "light"): 5}, stderr)

    def test_a_driver_that_calculates_one_set_of_values_is_supported(self):
        profile, _, stderr = self.record_stalls("stalls", 10, faults="stalls_one_set")
        self.assert_samples(profile, {("relax", "mock GPU 0", "light"): 10, ("smooth", "mock GPU 0", "heavy"): 10}, stderr)

    def test_samples_outside_known_code_are_unknown(self):
        profile, _, stderr = self.record_stalls("stalls", 10, faults="stalls_foreign")
        found, estimated = self.samples(profile)
        self.assertEqual(found.pop((None, "mock GPU 0", "[unknown]", None, "active")), 100, stderr)
        self.assertEqual(found, self.expected({("relax", "mock GPU 0", "light"): 10, ("smooth", "mock GPU 0", "heavy"): 10}))
        self.assertEqual(estimated, set())

    def test_dropped_samples_are_counted(self):
        profile, _, stderr = self.record_stalls("stalls", 10, faults="stalls_drop")
        self.assertEqual(profile.losses(), {"samples_dropped": 1}, stderr)
        self.assertEqual(profile.end()["samples"], 250, "what was read all the same")

    def test_invalid_values_are_ignored_and_counted(self):
        profile, _, stderr = self.record_stalls("stalls", 10, faults="stalls_wrong")
        self.assertEqual(profile.losses(), {"samples_dropped": 2}, stderr)
        self.assertEqual(profile.end()["samples"], 250 - 4, "but for the first row")

    def test_a_lost_device_is_sampled_again(self):
        profile, _, stderr = self.record_stalls("stalls_slowly", 8, faults="stalls_lost")
        self.assertEqual(profile.losses(), {"samples_dropped": 1}, stderr)
        found, _ = self.samples(profile)
        self.assertEqual({key[:3] for key in found}, {("relax", "mock GPU 0", "light")}, stderr)
        launches = sum(found.values()) // 6
        self.assertEqual(sum(found.values()), 6 * launches)
        self.assertIn(launches, range(3, 8), "number of sampled launches after the loss of the device")
        self.assertEqual(self.stall_meta(profile, "reopened"), ["1"])

    def test_a_killed_program_keeps_the_samples_that_were_read(self):
        profile, _, stderr = self.record_stalls("stalls_slowly", 100, command=("timeout", "-s", "KILL", "2", APP), expect=-9)
        found, _ = self.samples(profile)
        sums = collections.Counter()
        for key, count in found.items():
            sums[key[2]] += count
        # The kill loses the times of work in the last 0.2 s, so the kernels of samples in that time are unknown.
        self.assertEqual(set(sums) - {"[unknown]"}, {"light"}, stderr)
        self.assertLessEqual(sums["[unknown]"], 6 * 3, stderr)
        self.assertEqual(sums["light"] % 6, 0)
        self.assertGreaterEqual(sums["light"], 6 * 3, "of 1.8 s at least")

    def test_the_last_samples_before_the_window_ends_are_recorded(self):
        profile, _, stderr = self.record_stalls("stalls_steadily", 1500, options=("--duration", "1s"))
        found, _ = self.samples(profile)
        launches = sum(row[3] for row in profile.gpu())
        self.assertGreater(launches, 50, stderr)
        self.assertEqual({key[:3] for key in found}, {("relax", "mock GPU 0", "light")}, stderr)
        # Samples are read every 50 ms, after 20 launches or more. Without the last read, the samples of 20 launches
        # would be missing. The last read also returns samples of later launches.
        self.assertGreaterEqual(sum(found.values()), 6 * (launches - 3), stderr)
        self.assertLess(sum(found.values()), 6 * (launches + 200), stderr)

    def test_nothing_is_sampled_while_gpuprof_is_stopped(self):
        environment = {**os.environ, "ZE_ENABLE_ALT_DRIVERS": DRIVER, "MOCK_ZE_FAULTS": "stalls_say"}
        command = [rig.GPUPROF, "record", "--stalls", "-o", self.profile_path, "--", APP, "stalls_slowly", "145"]
        with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.PIPE) as recorder:
            said = [recorder.stdout.readline()]
            recorder.send_signal(signal.SIGSTOP)  # after 10 s the recorder counts as gone
            said.append(recorder.stdout.readline())
            time.sleep(2.5)  # the program makes about 20 launches
            recorder.send_signal(signal.SIGCONT)
            said.append(recorder.stdout.readline())
            rest, stderr = recorder.communicate()
        self.assertEqual(said, ["stream open\n", "stream closed\n", "stream open\n"], stderr)
        self.assertNotIn("stream open", rest)
        self.assertEqual(recorder.returncode, 0, stderr)
        profile = rig.Profile(self.profile_path)
        self.assertEqual(self.stall_meta(profile, "reopened"), ["1"], stderr)
        self.assertEqual(profile.losses().get("samples_dropped"), 1, profile.losses())
        found, _ = self.samples(profile)
        self.assertEqual({key[2] for key in found} - {"[unknown]"}, {"light"}, stderr)
        self.assertGreater(sum(found.values()), 6 * 90, "those of the first 10 s, and of what came after")
        self.assertLess(sum(found.values()), 6 * (145 - 15), "none of those between")

    def test_a_driver_that_never_returns_samples_does_not_block_exit(self):
        profile, expected, stderr = self.record_stalls("immediate", 10, faults="stalls_stuck")
        self.assert_exact(profile, expected, stderr)
        self.assertRegex(" ".join(self.stall_meta(profile, "end")), "timed out")
        profile, _, stderr = self.record_stalls("stalls_slowly", 10, faults="stalls_stuck")
        self.assertEqual(sum(row[3] for row in profile.gpu()), 10, stderr)
        self.assertRegex(" ".join(self.stall_meta(profile, "end")), "timed out")

    def stall_meta(self, profile, key):
        return [value for name, values in profile.meta().items() for value in values
                if name.endswith(f"level_zero.stalls.{key}")]

    def test_a_refusal_prints_one_line_and_all_work_is_recorded(self):
        for fault, words in REFUSALS.items():
            with self.subTest(fault=fault):
                profile, expected, stderr = self.record_stalls("immediate", 10, faults=fault)
                self.assertEqual(len(re.findall("no samples: ", stderr)), 1, stderr)
                self.assertRegex(stderr, "no samples: .*" + words)
                self.assertEqual(profile.of("EUSTALL"), [])
                self.assert_exact(profile, expected, stderr)

    def test_metrics_disabled_by_the_user_give_a_hint(self):
        profile, expected, stderr = self.record_stalls("immediate", 10, ZET_ENABLE_METRICS="0")
        self.assertRegex(stderr, "no samples: .*ZET_ENABLE_METRICS=1")
        self.assert_exact(profile, expected, stderr)

    def test_sampling_does_not_change_the_recorded_work(self):
        for case in ("immediate", "regular", "devices", "threads"):
            for drivers in ((DRIVER,), (DRIVER, SECOND_DRIVER)):
                with self.subTest(case=case, drivers=len(drivers)):
                    self.assert_exact(*self.record_stalls(case, 20, drivers=drivers))

    def test_nothing_is_sampled_without_the_option(self):
        profile, expected, stderr = self.record_app("stalls", "10")
        self.assertEqual(profile.of("EUSTALL"), [])
        self.assertEqual(self.stall_meta(profile, "streams"), [])

    def test_forks_and_unfinished_work_are_recorded_while_sampling(self):
        profile, expected, stderr = self.record_stalls("forked", 10)
        self.assert_exact(profile, expected, stderr)
        profile, _, stderr = self.record_stalls("fork_late", 10)
        self.assertIn("a child of fork()", stderr)
        profile, _, stderr = self.record_stalls("leave_running", 10, faults="never_finish")
        self.assertEqual(profile.losses(), {"unfinished": 1}, stderr)


if __name__ == "__main__":
    rig.main()
