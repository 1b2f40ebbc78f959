"""Tests of kernels in batches and of their stall samples: staller.c on xe, batches.c on i915."""

import collections
import re

import rig


class Kernels:
    """Mixin for a test class whose `sections` holds the output of the virtual machine, one entry per script section."""

    def stalls(self, generation="xe2"):
        """Returns {(function of staller.c, kernel, offset, reason, estimated): samples}, and the profile."""
        section = f"stalls.{generation}"
        self.assertIn("status 0", self.sections[section], self.said(section))
        with open(self.profile_path, "w", encoding="utf-8") as file:
            file.write("\n".join(self.sections[f"{section}.profile"]))
        profile = rig.Profile(self.profile_path)
        text = profile.strings()
        places = {row[0]: (text.get(row[2], ""), int(row[3], 16)) for row in profile.of("GPU_PLACE")}
        found = collections.Counter()
        for _, work, place, reason, _, count, flags in profile.of("EUSTALL"):
            frames = profile.frames(profile.works[work].ustack)
            path = frames[frames.index("main") + 1:frames.index("submit")] if frames else ["none"]
            found[(path[-1], *places.get(place, ("", 0)), text[reason], int(flags))] += int(count)
        return found, profile

    def test_stalls_belong_to_their_kernels_and_launch_paths(self):
        """Of 897 samples on both GTs, 546 belong to one call path each, two call paths share 200, 57 are of jobs without a known
        end, and 94 have no call path. The commands of all generations give the same result."""
        for generation in ("pvc", "xe2", "xe3p"):
            with self.subTest(generation):
                self.assert_stalls(*self.stalls(generation))

    def assert_stalls(self, found, profile):
        shared = {path: found.pop((path, "kernel at 0x40000", 0x80, "dist_acc", 1), 0) for path in ("forward", "backward")}
        self.assertEqual(found, {
            ("chained", "kernel at 0x8000", 0x40, "sbid", 0): 60 + 30,
            ("chained", "kernel at 0x8000", 0x48, "send", 0): 40 * 2,
            ("chained", "kernel at 0x8000", 0x40, "active", 0): 10 * 3,
            ("late", "kernel at 0x20000", 0x10, "sync", 0): 70,
            ("in_object", "kernel at 0x60000", 0x8, "pipestall", 0): 25,
            ("reused", "kernel at 0x8000 (2)", 0x40, "sbid", 0): 15,
            # The latest binding of an address counts, even if it is smaller than the one before.
            ("rebound", "kernel at 0x80000", 0, "send", 0): 35,
            ("rebound", "kernel at 0x81000", 0x8, "send", 0): 45,
            ("mapped_again", "kernel at 0x60000", 0x10, "pipestall", 0): 55,
            ("drivers_own", "kernel at 0xa0000", 0, "sync", 0): 65,
            # Two ranges that were bound in one call, a mirror of the process's addresses, and samples that were read late.
            ("listed", "kernel at 0x3000000", 0, "send", 0): 11,
            ("mirrored", "kernel at 0x3100000", 0, "send", 0): 12,
            ("read_late", "kernel at 0x3200000", 0, "send", 0): 13,
            # Of jobs without a fence, the second sample may be of the first job, which the hardware may still have run.
            ("first_untimed", "kernel at 0x2000000", 0x10, "send", 1): 20,
            ("first_untimed", "kernel at 0x2000000", 0x10, "sync", 1): 7,
            ("second_untimed", "kernel at 0x2020000", 0x18, "send", 1): 30,
            # Samples outside of all kernels, in the driver's own job, in batches that gone() of staller.c made unreadable,
            # and in the batch of a video engine.
            ("none", "", 0, "control", 0): 50 + 5 + 4 * 5 + 5,
            # Samples of nulled(), whose batch has no memory, and those after the end of an exec queue.
            ("none", "", 0, "send", 0): 5 + 9,
        })
        # Both paths ran at the same time for equally long. One of them may get one sample more.
        self.assertEqual(sum(shared.values()), 200)
        self.assertLessEqual(abs(shared["forward"] - 100), 1)
        self.assertEqual(profile.end()["samples"], 897)

    def test_jobs_with_invalid_batches_are_recorded(self):
        _, profile = self.stalls()
        counts = collections.Counter()
        for work, (count, *_) in profile.measured("GPU"):
            frames = profile.frames(work.ustack)
            counts[frames[frames.index("main") + 1]] += count
        self.assertEqual(counts, {"chained": 1, "late": 1, "twice": 2, "in_object": 1, "reused": 1, "rebound": 2,
                                  "mapped_again": 1, "drivers_own": 2, "gone": 4, "many_late": 10, "listed": 1, "nulled": 1, "video": 1,
                                  "mirrored": 1, "read_late": 1, "hostile": 8})

    def test_jobs_without_a_fence_have_no_time(self):
        _, profile = self.stalls()
        ring = "xe-rcs [time unknown: long-running VM before Linux 6.19]"
        sampled = {profile.works[row[1]].name for row in profile.of("EUSTALL")}
        self.assertIn(ring, sampled)
        self.assertNotIn(ring, {work.name for work, _ in profile.measured("GPU")})
        counts = [values for key, values in profile.meta().items() if re.search(r"\d\.drm\.jobs\.untimed$", key)]
        self.assertEqual(counts, [["2"]])

    def test_waits_without_jobs_are_counted(self):
        _, profile = self.stalls()
        self.assertEqual([values for key, values in profile.meta().items() if re.search(r"\d\.drm\.waits_without_jobs$", key)],
                         [["1"]])
        self.assertIn("EnableDirectSubmission=0", self.said("stalls.xe2"))

    def test_a_job_of_the_drivers_own_is_not_on_the_exec_queue_of_the_call(self):
        _, profile = self.stalls()
        streams = {work.name: work.stream for work, _ in profile.measured("GPU")
                   if "drivers_own" in profile.frames(work.ustack)}
        self.assertEqual(set(streams), {"xe-rcs", "xe-ccs"})
        self.assertEqual(streams["xe-rcs"], 1)
        self.assertGreaterEqual(streams["xe-ccs"], 1_000_000)

    def test_all_batches_that_are_written_late_are_read_again(self):
        _, profile = self.stalls()
        told = {value.split(",")[0] for key, values in profile.meta().items() if re.search(r"\.drm\.kernel\d+$", key)
                for value in values}
        self.assertEqual({name for name in told if name.startswith("kernel at 0x100")},
                         {f"kernel at {0x1000000 + i * 0x1000:#x}" for i in range(10)})

    def test_dropped_stalls_and_resets_are_reported(self):
        _, profile = self.stalls()
        self.assertEqual(profile.losses(), {"samples_dropped": 1, "no_timing": 2})
        meta = {key.split(".drm.stalls.")[1]: values for key, values in profile.meta().items() if ".drm.stalls." in key}
        self.assertEqual(meta, {"streams": ["2"], "period_cycles": ["1004"], "drops": ["1"], "resets": ["1"], "ends_inferred": ["0"]})
        text = profile.strings()
        self.assertEqual([(row[1], text[row[2]]) for row in profile.of("SAMPLING")], [("1004", "cycles")])

    def test_kernels_of_i915_have_their_streams_and_times(self):
        """The kernels are those that batches.c submits. i915 cannot sample stalls."""
        self.assertIn("status 0", self.sections["batches"], self.said("batches"))
        self.assertIn("no stalls are sampled", self.said("batches"))
        with open(self.profile_path, "w", encoding="utf-8") as file:
            file.write("\n".join(self.sections["batches.profile"]))
        profile = rig.Profile(self.profile_path)
        told = [value for key, values in profile.meta().items() if re.search(r"\.drm\.kernel\d+$", key) for value in values]
        parts = [re.match(r"(.*), device \d+, stream (\d+), jobs (\d+)(?:, alone in (\d+) for (\d+) ns)?$", text)
                 for text in told]
        self.assertEqual({part.group(1, 2, 3, 4) for part in parts}, {
            ("kernel at 0x8000", "1", "2", "2"),
            ("kernel at 0x8000", "2", "1", "1"),
            ("kernel at 0x8000 in VM 2", "3", "1", "1"),
            ("kernel at 0x9000", "1", "1", "1"),
            ("kernel at 0xa000", "1", "1", None),
            ("kernel at 0xb000", "1", "1", None),
            ("kernel at 0xc000", "1", "1", "1"),
            ("kernel at 0xd000", "1", "1", "1"),
            ("kernel at 0xe000", "1", "2", "2"),  # the driver writes into the batches where it is
        })
        self.assertEqual(len(parts), 9)
        for part in parts:
            if part.group(4):
                self.assertGreater(int(part.group(5)), int(part.group(4)) * 19_000_000)
        self.assertEqual(profile.coverage()["matched"], 14)
        given_up = [values for key, values in profile.meta().items() if re.search(r"\d\.drm\.batches\.given_up$", key)]
        # The three batches are in an unmapped object, jump to such an object, or are in no object.
        self.assertEqual(given_up, [["3"]])
        self.assertEqual(sorted(text for key, values in profile.meta().items() if ".drm.device" in key
                                for text in (re.sub(", client.*", "", value) for value in values)),
                         ["context 1, VM 7", "context 2, VM 7", "context 3"])

    def test_incomplete_batches_are_counted(self):
        """The incomplete batches are all four of gone(), and those of hostile() that hold random bytes or are at
        unbound addresses."""
        _, profile = self.stalls()
        meta = {key.split(".drm.", 1)[1]: values for key, values in profile.meta().items()
                if ".drm." in key and ".note." not in key}
        # hostile() binds more ranges in one call than gpuprof reads.
        self.assertEqual((meta["batches.lost"], meta["bindings.lost"]), (["0"], ["1"]))
        self.assertIn(int(meta["batches.given_up"][0]), range(9, 14))
        self.assertIn("incomplete at submission", self.said("stalls.xe2.profile"))

    def test_stalls_are_folded_below_kernels(self):
        folded = self.sections["stalls.folded"]
        self.assertIn("[unknown];[no CPU stack];[unknown]_[G];[unknown]_[G];control_[g] 80", folded)
        self.assertIn("[unknown];[no CPU stack];[unknown]_[G];[unknown]_[G];send_[g] 14", folded)
        late = [line for line in folded if ";late;" in line]
        self.assertEqual([line.split(";xe-rcs_[G];")[1] for line in late], ["kernel at 0x20000_[G];sync_[g] 70"])

    def test_a_refusal_to_sample_stalls_has_a_reason(self):
        busy, paranoid = self.said("stalls.busy"), self.said("stalls.paranoid")
        self.assertIn("no stalls are sampled: cannot sample stalls of GT 0 of xe.0: Device or resource busy", busy)
        self.assertIn("another program samples this GPU", busy)
        self.assertIn("no stalls are sampled: cannot sample stalls of GT 0 of xe.0: Permission denied", paranoid)
        self.assertIn("sysctl dev.xe.observation_paranoid=0", paranoid)
        for said in (busy, paranoid):
            self.assertIn("status 0", said)
