#!/usr/bin/env python3
"""Tests `gpuprof record` of a mock driver program: the profile holds exactly what the program did."""

import collections
import json
import os
import re
import signal
import subprocess

import rig

APP = os.environ["MOCK_CUDA_APP"]
MOCKS = os.environ["MOCK_CUDA_DIR"]
COPIES = {"copy_htod", "copy_dtoh", "copy_dtod", "copy_ptop", "fill"}


class RecordCupti(rig.RuntimeTest):
    def environment(self, faults="", **extra):
        return {**os.environ, "LD_LIBRARY_PATH": MOCKS, "MOCK_CUPTI_FAULTS": faults, **extra}

    def record_app(self, *arguments, faults="", options=(), **extra):
        """Returns (profile, what the app printed, stderr)."""
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, *options, "--", APP, *arguments],
                               env=self.environment(faults, **extra))
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertEqual(run.returncode, 0, stderr)
        return rig.Profile(self.profile_path), json.loads(run.stdout), stderr

    def test_known_faults_of_the_cupti_version_are_noted_once(self):
        for version, options, expected in (
                (130000, [], ["flushing or stopping can crash or hang", "some kernels have no times",
                              "graphs of green contexts lack capture stacks", "graphs with copies or fills leak memory",
                              "long recordings take ever more CPU"]),
                (130400, ["--latency"], ["long recordings take ever more CPU", "--latency can hang the program"]),
                (130401, ["--latency"], [])):
            with self.subTest(version=version):
                profile, _, stderr = self.record_app("--launches", "5", faults=f"old_version={version}", options=options)
                faults = [value for key, values in profile.meta().items() if key.endswith(".cupti.faults")
                          for value in values]
                self.assertEqual(faults, ["; ".join(expected)] if expected else [])
                self.assertNotIn("known faults", stderr)

    def test_the_profile_has_the_overhead_that_record_prints(self):
        profile, _, stderr = self.record_app("--launches", "20000", "--kernels-only")
        number, unit = re.search(r"overhead at least ([\d.]+) (ns|us|ms) a launch", stderr).groups()
        stored = int(profile.meta()["overhead.probe_ns_per_launch"][0]) / {"ns": 1, "us": 1e3, "ms": 1e6}[unit]
        self.assertAlmostEqual(stored, float(number), delta=0.005 * float(number))

    def assert_exact(self, profile, did, stderr):
        self.assertEqual(sum(row[4] for row in profile.gpu()), did["total_ns"], stderr)
        self.assertEqual(sum(row[3] for row in profile.gpu()), did["total_ops"])
        self.assertEqual(profile.end()["launches"], did["launches"])
        self.assertEqual(sum(value for _, value in self.folded()), did["total_ns"])
        self.assert_conserved(profile)
        kernels = {}
        for _, _, name, count, ns in profile.gpu():
            if name:
                known = kernels.setdefault(name, [0, 0])
                known[0] += count
                known[1] += ns
        for name, op in did["ops"].items():
            if name not in COPIES:
                # A kernel name contains the function's own name, mangled or not.
                function = "solve" if "solve" in name else "assemble"
                found = [totals for kernel, totals in kernels.items() if function in kernel]
                self.assertEqual(found, [[op["count"], op["ns"]]], kernels)
        # All executions of a kernel take the same time.
        for line in json.loads(self.gpuprof("report", "--json", "-i", self.profile_path))["work"]:
            for percentile in ("median_ns", "p95_ns", "p99_ns"):
                self.assertEqual(line[percentile], line["max_ns"], line)

    def test_counts_and_times_are_exact(self):
        for arguments in ((), ("--driver-api",), ("--graph", "50"), ("--threads", "4"), ("--fork",)):
            with self.subTest(arguments=arguments):
                self.assert_exact(*self.record_app("--launches", "200", *arguments))

    def test_launches_between_windows_are_counted_on_each_device(self):
        """Copies within a device and large fills have numbers, too, and each device its own."""
        profile, did, stderr = self.record_app("--launches", "60000", "--threads", "2", "--gap-us", "20",
                                               options=["--max-overhead", "2"])
        coverage = profile.coverage()
        self.assertLess(coverage["launches"], did["launches"] / 2, stderr)
        self.assertEqual(len({work.device for work, _ in profile.measured("GPU")}), 2)
        self.assertAlmostEqual(coverage["represented"], did["launches"],
                               delta=0.03 * did["launches"] + coverage.get("extrapolated", 0), msg=stderr)

    def test_a_limit_does_not_hide_what_graphs_cost_between_windows(self):
        """CUPTI cannot be detached from a process with graphs."""
        profile, _, stderr = self.record_app("--launches", "0", "--graph-nodes", "5", "--graph-replays", "10000",
                                             "--gap-us", "100", options=["--max-overhead", "2"])
        notes = [value for key, values in profile.meta().items() if key.endswith("cupti_stays_between_windows")
                 for value in values]
        self.assertEqual(len(notes), 1, stderr)
        self.assertIn("CUPTI stays in the process between the windows", stderr)

    def test_each_call_site_has_its_own_stack(self):
        for engine in rig.stack_engines():
            with self.subTest(engine=engine):
                self.check_call_sites(engine)

    def check_call_sites(self, engine):
        launches = 300
        profile, did, stderr = self.record_app("--launches", str(launches), "--kernels-only",
                                               options=["--stacks", engine])
        self.assert_exact(profile, did, stderr)
        self.assert_works_differ(profile)
        self.assertEqual(profile.end()["with_stack"], profile.end()["gpu_records"], stderr)
        sites = {"assemble": 4000, "solve": 16000, "postprocess": 4000}
        found = dict.fromkeys(sites, 0)
        for frames, ns in self.folded("--from-start"):
            # Only CPU frames are searched for the site, because two kernels have the name of a site.
            cpu = [frame for frame in frames if not frame.endswith(("_[G]", "_[g]"))]
            self.assertEqual(frames[1], "_start", frames)
            self.assertNotIn("[truncated]", frames)
            for site in sites:
                if any(site + "(" in frame or frame == site or frame.endswith("::" + site) for frame in cpu):
                    found[site] += ns
        self.assertEqual(found, {site: launches * ns for site, ns in sites.items()}, self.folded())

    def test_losses_are_in_the_profile(self):
        profile, did, stderr = self.record_app("--launches", "100", "--kernels-only", faults="drop_records=10")
        self.assertEqual(sum(row[3] for row in profile.gpu()), did["total_ops"] * 9 // 10)
        self.assertIn(did["total_ops"] // 10, profile.losses().values(), stderr)
        self.assert_conserved(profile)

    def test_launches_of_late_exit_handlers_are_counted_as_lost(self):
        profile, did, stderr = self.record_app("--launches", "10", "--ending", "late")
        self.assertEqual(profile.losses(), {"unfinished": 3}, stderr)
        self.assertEqual(profile.end()["gpu_records"], did["total_ops"], stderr)

    def test_calls_that_fail_are_counted_with_error_and_call_path(self):
        _, did, stderr = self.record_app("--launches", "10", "--fail", "30")
        self.assertEqual(did["failed"], 30)
        self.assertIn("(30 FAILED)", stderr)
        failed = self.folded("--weight", "failed")
        self.assertEqual([value for _, value in failed], [30])
        self.assertEqual(failed[0][0][-1], "[cuLaunchKernel: CUDA_ERROR_INVALID_VALUE (1)]")
        self.assertTrue(any("launch_wrongly" in frame for frame in failed[0][0]), failed)
        report = json.loads(self.gpuprof("report", "--json", "-i", self.profile_path))
        self.assertEqual([line["count"] for line in report["failed_calls"]], [30])
        self.assertNotIn("launches_without_work", report)
        self.assertEqual(self.folded("--weight", "no-work"), [])

    def test_launches_without_recorded_work_have_their_call_path(self):
        profile, did, _ = self.record_app("--launches", "100", "--kernels-only", faults="drop_records=10")
        dropped = did["total_ops"] // 10
        self.assertEqual(profile.coverage()["without_record"], dropped)
        lost = self.folded("--weight", "no-work")
        self.assertEqual(sum(value for _, value in lost), dropped)
        for frames, _ in lost:
            self.assertEqual(frames[-1], "[no GPU work]")
            self.assertTrue(any(site in frame for frame in frames for site in ("assemble", "solve", "postprocess")), frames)
        self.assertIn("Launches without recorded GPU work", self.gpuprof("report", "--full", "-i", self.profile_path))

    def calls(self, profile):
        """Returns {function: [count, sum, min, max]} of the calls."""
        result = {}
        for work, (count, ns, least, most, _) in profile.measured("HOST"):
            if work.op == "call":
                known = result.setdefault(work.name, [0, 0, least, most])
                result[work.name] = [known[0] + count, known[1] + ns, min(known[2], least), max(known[3], most)]
        self.assert_conserved(profile)
        return result

    def test_module_loads_take_what_the_programs_own_clock_says(self):
        loads, us = 30, 5000
        profile, did, _ = self.record_app("--launches", "10", "--modules", str(loads),
                                          MOCK_SLOW_CALLS=f"cuModuleLoadData={us},cuDevicePrimaryCtxRetain=20000")
        calls = self.calls(profile)
        count, _, least, _ = calls["cuModuleLoadData"]
        self.assertEqual(count, loads + 1)  # and one when the program starts
        self.assertGreaterEqual(least, us * 1000)
        own_ns = did["host"]["load"]["ns"]
        found = sum(ns for frames, ns in self.folded("--weight", "calls")
                    if any("load_modules" in frame for frame in frames) and frames[-1] == "[call cuModuleLoadData]")
        self.assertLessEqual(found, own_ns)
        self.assertAlmostEqual(found, own_ns, delta=0.03 * own_ns)
        self.assertGreaterEqual(calls["cuDevicePrimaryCtxRetain"][1], 20_000_000)
        line = next(line for line in json.loads(self.gpuprof("report", "--json", "-i", self.profile_path))["calls"]
                    if line["name"] == "cuModuleLoadData")
        self.assertEqual((line["count"], line["min_ns"]), (count, least))
        self.assertGreaterEqual(line["median_ns"], us * 1000)
        idle = {frames[-1]: ns for frames, ns in self.folded("--weight", "idle")}
        self.assertGreaterEqual(idle["[idle in cuDevicePrimaryCtxRetain]"], 20_000_000)

    def test_allocating_calls_are_timed_and_launches_only_if_they_are_long(self):
        profile, did, _ = self.record_app("--launches", "100", "--alloc", "20")
        calls = self.calls(profile)
        allocating = ["cuMemAlloc_v2", "cuMemAllocAsync", "cuMemAllocManaged", "cuMemHostAlloc"]
        self.assertEqual(sum(calls[name][0] for name in allocating), did["host"]["alloc"]["count"])
        freeing = ["cuMemFree_v2", "cuMemFreeAsync", "cuMemFreeHost"]
        self.assertEqual(sum(calls[name][0] for name in freeing), did["host"]["free"]["count"])
        always = {*allocating, *freeing, "cuModuleLoadData", "cuDevicePrimaryCtxRetain"}
        for name, numbers in calls.items():
            self.assertTrue(name in always or numbers[2] >= 100_000, (name, numbers))
        # The allocations themselves keep their stacks.
        self.assertTrue(all(work.ustack != "0" for work, _ in profile.measured("HOST") if work.op in ("alloc", "free")))

    def test_long_launches_are_calls_and_keep_their_work(self):
        for engine in rig.stack_engines():
            with self.subTest(engine=engine):
                profile, did, stderr = self.record_app("--launches", "100", options=["--stacks", engine],
                                                       MOCK_SLOW_CALLS="cuLaunchKernel=300")
                self.assert_exact(profile, did, stderr)
                count, _, least, _ = self.calls(profile)["cuLaunchKernel"]
                self.assertEqual(count, 300)
                self.assertGreaterEqual(least, 300_000)
                paths = [frames for frames, _ in self.folded("--weight", "calls") if frames[-1] == "[call cuLaunchKernel]"]
                self.assertTrue(all(any("three_sites" in frame for frame in frames) for frames in paths), paths)

    def test_a_call_inside_another_counts_once(self):
        profile, did, _ = self.record_app("--launches", "10", "--modules", "20", MOCK_LOAD_ALLOCATES="1")
        calls = self.calls(profile)
        self.assertEqual(calls["cuModuleLoadData"][0], 21)
        self.assertEqual(calls["cuMemAlloc_v2"][0], did["host"]["alloc"]["count"], "only those outside of loads")
        self.assertNotIn("cuMemFree_v2", calls)

    def test_a_wait_between_two_other_calls_is_recorded(self):
        profile, _, _ = self.record_app("--launches", "10", "--modules", "20", MOCK_LOAD_ALLOCATES="2",
                                        faults="nested_correlation")
        waits = collections.Counter()
        for work, numbers in profile.measured("HOST"):
            waits[work.name] += numbers[0] if work.op == "sync" else 0
        self.assertEqual(waits["cuCtxSynchronize"], 21)  # one in each load
        self.assertEqual(self.calls(profile)["cuModuleLoadData"][0], 21)

    def test_another_subscriber_is_reported(self):
        profile, did, stderr = self.record_app(faults="subscriber_conflict")
        self.assertEqual(profile.gpu(), [])
        self.assertIn("another profiler uses CUPTI", stderr)
        self.assertEqual(did["launches"], 800)

    def test_a_killed_target_keeps_its_work(self):
        with subprocess.Popen(
                [rig.GPUPROF, "record", "-o", self.profile_path, "--", APP, "--launches", "100", "--sleep-ms", "60000"],
                env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            did = json.loads(process.stdout.readline())
            self.assertTrue(rig.wait_for(lambda: (rig.gpu_records(self.profile_path) or 0) >= did["total_ops"]))
            os.kill(did["pid"], signal.SIGKILL)
            _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGKILL, stderr)
        self.assert_exact(rig.Profile(self.profile_path), did, stderr)


if __name__ == "__main__":
    rig.main()
