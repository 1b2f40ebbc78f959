#!/usr/bin/env python3
"""Tests `gpuprof record` of Level Zero programs: the profile holds what they did, to the nanosecond."""

import os
import re

import rig
import ze_rig
from ze_rig import APP, DRIVER, SECOND_DRIVER, function_in

EXACT = ("immediate", "by_handle", "synchronous", "with_events", "with_unread_events", "regular",
         "regular_with_events", "copies", "images", "launches", "devices", "threads", "waits")


class LevelZero(ze_rig.LevelZeroTest):
    def test_counts_and_times_are_exact_in_every_case(self):
        for case in EXACT:
            with self.subTest(case=case):
                self.assert_exact(*self.record_app(case, "50"))

    def test_with_a_limit_of_the_overhead_all_launches_are_counted(self):
        profile, _, stderr = self.record_app("measured", "100000", faults="reuse", options=["--max-overhead", "1"])
        coverage = profile.coverage()
        self.assertGreater(coverage["between_windows"], 50_000, stderr)  # immediate commands
        self.assertEqual(coverage["launches"] + coverage["between_windows"], 200_000, stderr)
        folded = rig.parse_folded(self.gpuprof("-q", "flame", "--weight", "count", "-i", self.profile_path))
        # A machine that is too busy loses records, which are no part of the estimate.
        estimate = 200_000 * coverage["matched"] // coverage["launches"]
        self.assertAlmostEqual(sum(value for _, value in folded), estimate, delta=200, msg=stderr)

    def test_two_drivers_are_recorded_with_both_loader_modes(self):
        # How a loader with two drivers finds the driver of a handle. 0: the loader wraps the handles. 1 (default since loader
        # 1.24): the handle leads to the driver's functions.
        for by_handle in ("0", "1"):
            for case in ("immediate", "regular_with_events", "copies", "devices"):
                for drivers in ((DRIVER,), (DRIVER, SECOND_DRIVER)):
                    with self.subTest(case=case, by_handle=by_handle, drivers=len(drivers)):
                        self.assert_exact(*self.record_app(case, drivers=drivers,
                                                           ZE_ENABLE_LOADER_DRIVER_DDI_PATH=by_handle))

    def test_calls_of_later_versions_are_recorded(self):
        profile, expected, stderr = self.record_app("newer")
        if not expected:
            self.skipTest("this loader does not have them")
        self.assert_exact(profile, expected, stderr)
        waits = {work.name: numbers for work, numbers in profile.measured("HOST") if work.op == "sync"}
        self.assertGreater(waits["zeCommandListHostSynchronize"][1], 15_000_000, stderr)

    def test_calls_that_load_or_allocate_are_timed_and_others_if_they_are_long(self):
        calls = {}
        for case in ("immediate", "regular", "copies"):
            profile, expected, stderr = self.record_app(case)
            self.assert_exact(profile, expected, stderr)
            for work, numbers in profile.measured("HOST"):
                if work.op == "call":
                    calls.setdefault(work.name, []).append(numbers)
                    self.assertTrue(profile.frames(work.ustack), work)
        always = {"zeModuleCreate", "zeContextCreate", "zeMemAllocDevice", "zeMemAllocShared", "zeMemAllocHost", "zeMemFree"}
        self.assertLessEqual({"zeModuleCreate", "zeContextCreate"}, set(calls))
        for name, rows in calls.items():
            self.assertTrue(name in always or all(least >= 100_000 for _, _, least, _, _ in rows), (name, rows))

    def test_many_unread_launches_are_recorded_exactly(self):
        self.assert_exact(*self.record_app("immediate", "3000"))

    def test_each_call_site_has_its_own_stack(self):
        for engine in rig.stack_engines():
            for case in ("immediate", "regular"):
                with self.subTest(engine=engine, case=case):
                    profile, expected, stderr = self.record_app(case, options=["--stacks", engine])
                    self.assert_exact(profile, expected, stderr)
                    self.assertEqual(profile.meta()["stack_engine"], [engine])
                    self.assertEqual(profile.end()["with_stack"], profile.end()["gpu_records"], stderr)
                    for frames, _ in self.folded("--from-start"):
                        self.assertEqual(frames[1], "_start", frames)
                        self.assertNotIn("[truncated]", frames)

    def test_stacks_contain_no_profiler_frames(self):
        # The loader of Debian 12 jumps to the tracing layer, so the loader's own function is not on the stack.
        self.record_app("immediate")
        for frames, _ in self.folded():
            cpu = [frame for frame in frames if not frame.endswith("_[G]")]
            self.assertRegex(cpu[-1], r"^(gpuprof::mock::launch\(.*|zeCommandListAppendLaunchKernel)$", frames)

    def test_work_has_the_stacks_of_its_execution_and_of_its_append(self):
        profile, _, stderr = self.record_app("regular", "7")
        for work, (count, _, *_) in profile.measured("GPU"):
            self.assertTrue(function_in(profile.frames(work.ustack), "submit"), stderr)
            self.assertTrue(function_in(profile.frames(work.capture), "assemble|solve"), stderr)
            self.assertEqual(count, {"light": 7, "heavy": 7}[work.name])
        self.assertEqual(profile.coverage()["launches"], 7, "one a submission")

    def test_each_process_of_a_program_is_recorded(self):
        profile, expected, stderr = self.record_app("forked")
        self.assert_exact(profile, expected, stderr)
        self.assertEqual(len({row[0] for row in profile.gpu()}), 2)

    def test_a_list_for_copies_only_is_read_by_the_host(self):
        self.assert_exact(*self.record_app("copy_queue", "3"))
        self.assert_exact(*self.record_app("regular", "1", faults="no_query"))

    def test_executions_overtaken_by_the_next_are_counted(self):
        profile, expected, stderr = self.record_app("regular", "20", faults="no_query")
        read = sum(row[3] for row in profile.gpu())
        self.assertEqual(read + profile.losses()["no_timing"], sum(row[3] for row in expected), stderr)
        self.assertGreaterEqual(read, 3, "the last one was not overtaken")

    def test_a_device_counter_may_wrap(self):
        profile, expected, stderr = self.record_app("immediate", "400", faults="wrap")
        self.assert_exact(profile, expected, stderr)

    def test_a_timer_resolution_in_nanoseconds_is_supported(self):
        # A driver of Level Zero 1.0 reports its clock period in whole ns: 52 ns instead of 52.08 ns.
        profile, expected, stderr = self.record_app("immediate", faults="old_driver")
        for _, _, name, count, ns in profile.gpu():
            self.assertEqual(ns, count * {"light": 192, "heavy": 768}[name] * 52, stderr)
        self.assertEqual(profile.end()["lost"], 0)

    def test_a_driver_that_overwrites_the_structure_type_does_not_change_the_unit_of_times(self):
        self.assert_exact(*self.record_app("immediate", faults="other_type"))

    def test_a_name_that_the_driver_does_not_write_is_unknown(self):
        """No bytes of the program's stack are in the profile."""
        profile, expected, stderr = self.record_app("immediate", faults="mute")
        self.assertEqual({row[2] for row in profile.gpu()}, {"[kernel name not known]"}, stderr)
        self.assertEqual(sum(row[3] for row in profile.gpu()), sum(row[3] for row in expected))

    def test_devices_have_names(self):
        profile, expected, stderr = self.record_app("devices")
        self.assert_exact(profile, expected, stderr)
        names = {profile.strings()[row[3]] for row in profile.of("DEVICE")}
        self.assertEqual(names, {"mock GPU 0", "mock GPU 1, sub-device 0", "mock GPU 1, sub-device 1"})
        self.assertEqual(profile.meta()["gpu.driver"], ["Level Zero 1.3.77"])

    def test_waits_have_their_time(self):
        profile, _, stderr = self.record_app("waits")
        waits = {work.name: numbers for work, numbers in profile.measured("HOST") if work.op == "sync"}
        for name in ("zeEventHostSynchronize", "zeCommandQueueSynchronize"):
            self.assertGreaterEqual(waits[name][0], 1, stderr)
            self.assertGreater(waits[name][1], 15_000_000, "it waited for a kernel of 20 ms")

    def test_allocations_have_their_bytes(self):
        profile, _, stderr = self.record_app("copies")
        told = {}
        for work, numbers in profile.measured("HOST"):
            if work.op in ("alloc", "free"):
                known = told.setdefault((work.op, work.name), [0, 0])
                known[0] += numbers[0]
                known[1] += numbers[-1]
        self.assertEqual(told, {("alloc", "zeMemAllocDevice"): [3, 3000], ("alloc", "zeMemAllocHost"): [1, 1000],
                                ("free", "zeMemFree"): [4, 4000]}, stderr)

    def test_driver_errors_are_counted_and_do_not_disturb_the_program(self):
        for faults, reason in (("query_error", "no_timing"), ("no_events", "no_timing"),
                               ("zero_times", "invalid_timestamp"), ("reversed_times", "invalid_timestamp")):
            for case in ("immediate", "regular"):
                with self.subTest(faults=faults, case=case):
                    profile, expected, stderr = self.record_app(case, faults=faults)
                    self.assertEqual(profile.gpu(), [], stderr)
                    self.assertEqual(profile.losses()[reason], sum(row[3] for row in expected), profile.losses())

    def test_refused_launches_are_counted_as_failed(self):
        profile, _, stderr = self.record_app("refused", faults="append_error")
        self.assertEqual(profile.coverage()["failed"], 10, stderr)
        self.assertEqual(profile.end()["lost"], 0)

    def test_a_list_may_be_destroyed_while_it_runs(self):
        profile, expected, stderr = self.record_app("destroy_running")
        self.assert_exact(profile, expected, stderr)

    def test_an_event_that_is_reused_too_early_is_counted_without_a_time(self):
        profile, expected, stderr = self.record_app("reuse_event")
        # All launches share one event, in which each launch overwrites the time of the one before. So the last launch has a time,
        # and an earlier launch has one only if the next launch was delayed.
        told, ns = self.sums(profile, expected)[("careless", "kernel", "slow")]
        self.assertEqual(ns, told * 20_000_000, stderr)
        self.assertEqual(told + profile.losses()["no_timing"], 10)
        self.assertEqual(set(profile.losses()), {"no_timing"})

    def test_work_that_runs_at_exit_is_recorded_or_counted(self):
        self.assert_exact(*self.record_app("leave_running"))
        profile, _, stderr = self.record_app("leave_running", faults="never_finish")
        self.assertEqual(profile.losses(), {"unfinished": 1}, stderr)
        self.assertRegex(stderr, r"held the end of the process for 0\.[5-9]\d s,")

    def test_a_child_that_forked_late_is_reported(self):
        profile, expected, stderr = self.record_app("fork_late")
        self.assertEqual(self.sums(profile, expected), {("careless", "kernel", "light"): [1, 10_000]}, stderr)
        self.assertIn("a child of fork()", stderr)

    def test_a_program_without_level_zero_runs_undisturbed(self):
        profile, _, stderr = self.record_app(command=("sh", "-c", "grep -c gpuprof_level_zero /proc/self/maps; "
                                                      "ls /proc/self/task | wc -l"), expect=0)
        self.assertEqual(profile.of("SOURCE") if profile.of("SOURCE") else [], [])
        self.assertNotIn("level_zero", stderr)

    def test_a_disabled_tracing_layer_is_reported_or_enabled(self):
        profile, expected, stderr = self.record_app("immediate", command=("env", "-u", "ZE_ENABLE_TRACING_LAYER", APP))
        self.assertEqual(len(expected), 2, "the program is not harmed")
        if profile.gpu():  # newer loaders can enable the layer at run time
            self.assert_exact(profile, expected, stderr)
        else:
            self.assertEqual(len(re.findall("no tracing layer", stderr)), 1, stderr)

    def test_a_library_preloaded_by_the_user_is_kept(self):
        self.assert_exact(*self.record_app("immediate", LD_PRELOAD="libm.so.6"))
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--", "env"],
                               env={**os.environ, "ZE_ENABLE_ALT_DRIVERS": DRIVER, "LD_PRELOAD": "libm.so.6"})
        self.assertRegex(run.stdout, rb"(?m)^LD_PRELOAD=libm.so.6:/.*/libgpuprof_level_zero.so$")

    def test_nothing_is_preloaded_without_a_device(self):
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--", "env"],
                               env={**os.environ, "ZE_ENABLE_ALT_DRIVERS": ""})
        if b"ZE_ENABLE_TRACING_LAYER=1" in run.stdout:
            self.skipTest("this machine has an Intel GPU")
        self.assertNotIn(b"gpuprof_level_zero", run.stdout)


if __name__ == "__main__":
    rig.main()
