#!/usr/bin/env python3
"""Tests --max-overhead: random windows are recorded, the sums of the whole run are estimated, and each output says so."""

import collections
import json
import os
import re
import signal
import subprocess
import time
import unittest

import rig

LOOP = os.path.join(os.path.dirname(rig.EXAMPLE), "bench_opencl_launch_loop")
LAUNCHES = 1_000_000
MADE = LAUNCHES + 500  # the program makes 500 more before it measures
NOTICE = "all numbers are estimates from "


def voluntary_switches(pid):
    """Returns how often the main thread of the process has waited."""
    with open(f"/proc/{pid}/task/{pid}/status", encoding="utf-8") as file:
        return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", file.read(), re.MULTILINE).group(1))



@unittest.skipUnless(os.path.exists(LOOP), "the loop of OpenCL launches is not built")
class Overhead(rig.RuntimeTest):
    def record_loop(self, limit, *options, launches=LAUNCHES):
        return self.record([LOOP, "--launches", str(launches)], options=["--max-overhead", limit, *options])

    def counted(self, path):
        return sum(value for _, value in rig.parse_folded(self.gpuprof("-q", "flame", "--weight", "count", "-i", path)))

    @staticmethod
    def weights(profile):
        """Returns the weights of the windows."""
        return [int(window[2]) if len(window) == 3 else 1 for window in profile.of("WINDOW")]

    @rig.requires("opencl")
    def test_windows_are_recorded_and_all_launches_are_counted(self):
        profile, stderr = self.record_loop("1%")
        coverage = profile.coverage()
        self.assertEqual(self.weights(profile)[0], 1, "nothing is known about the first window's cost")
        self.assertLess(coverage["launches"], MADE / 2, stderr)
        self.assertEqual(coverage["launches"] + coverage["between_windows"], MADE, stderr)
        self.assertEqual(profile.end()["gpu_records"], coverage["weighted"], "each launch has one work item")
        self.assertEqual(self.counted(self.profile_path), MADE)
        self.assertRegex(stderr, rf"recorded {coverage['launches']} launches of {MADE} in \d+ windows?, ")
        self.assertRegex(stderr, rf"estimate: {MADE} GPU records")
        self.assertEqual(profile.of("SHARE") + profile.of("IDLE"), [])

    @rig.requires("opencl")
    def test_launches_before_the_delay_are_not_estimated(self):
        # A signal ends the delay: on a busy machine, a program may make its first launch after any fixed delay.
        recorder = subprocess.Popen(
            [rig.GPUPROF, "record", "--max-overhead", "1", "--start-paused", "-o", self.profile_path, "--", LOOP,
             "--launches", str(2 * LAUNCHES), "--progress", "10"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(recorder.stdout.readline(), b"1/10\n")
        recorder.send_signal(signal.SIGUSR1)
        _, stderr = recorder.communicate(timeout=120)
        self.assertEqual(recorder.returncode, 0, stderr)
        made = 2 * LAUNCHES + 500
        coverage = rig.Profile(self.profile_path).coverage()
        self.assertEqual(coverage["launches"] + coverage["between_windows"], made, stderr)
        self.assertLess(coverage["represented"], 0.91 * made, stderr)

    @rig.requires("opencl")
    def test_latency_and_timeline_have_the_launches_in_windows(self):
        profile, _ = self.record_loop("1", "--latency", "--timeline")
        launches = profile.coverage()["launches"]
        self.assertEqual(profile.end()["launches"], launches)
        # Calls are drawn when they come. A recorder that closes a window late also keeps some after its end.
        calls, early = len(profile.of("CALL")), profile.coverage()["stack_whole"] - launches
        self.assertGreaterEqual(calls, launches)
        self.assertTrue(early == 0 or calls < launches + early, (calls, launches, early))
        counts = collections.Counter()
        for row in profile.of("LATENCY"):
            counts[row[1]] += int(row[2])
        self.assertEqual(set(counts.values()), {launches})
        for command in (("latency",), ("export", "--format", "chrome", "-o", os.devnull)):
            run = self.run_command([rig.GPUPROF, *command, "-i", self.profile_path])
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertNotIn(b"estimates", run.stderr)
            self.assertRegex(run.stderr.decode(), rf"the launches are only those in \d+ windows? of .*, {launches:,} of {MADE:,} launches")

    @rig.requires("opencl")
    def test_top_counts_all_launches_and_marks_estimates(self):
        # The program runs for clearly more than the 5 s after which --top prints its first line.
        profile, stderr = self.record([LOOP, "--launches", str(6 * LAUNCHES)], options=["--max-overhead", "1", "--top"])
        line = re.search(r"(\d+) s: ([\d,]+) launches/s, GPU time .* \(estimated from [\d.]+% of the launches\)", stderr)
        self.assertIsNotNone(line, stderr)
        made = int(line.group(1)) * int(line.group(2).replace(",", ""))
        self.assertGreater(made, profile.coverage()["launches"], "the launches in windows of the whole run are fewer")

    @rig.requires("opencl")
    def test_parts_by_time_are_scaled_as_a_filter_of_the_same_time(self):
        self.record_loop("1", "--interval", "100ms")
        folder = os.path.join(self.folder, "parts")
        self.gpuprof("-q", "split", "--by", "time=200ms", "-o", folder, self.profile_path)
        counts = {name: self.counted(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name != "rest.txt"}
        self.assertAlmostEqual(sum(counts.values()), MADE, delta=2 * len(counts))
        for name, count in counts.items():
            from_ms = int(re.match(r"time-0*(\d+)", name).group(1)) * 200
            part = os.path.join(self.folder, "part.txt")
            self.gpuprof("-q", "filter", "--from", f"{from_ms}ms", "--to", f"{from_ms + 200}ms", self.profile_path, "-o", part)
            self.assertAlmostEqual(self.counted(part), count, delta=2 + count / 1000, msg=name)
        again = os.path.join(self.folder, "again.txt")
        self.gpuprof("-q", "merge", folder, "-o", again)
        self.assertEqual(self.counted(again), self.counted(self.profile_path))

    def margin(self, path):
        """Returns half the width of the interval of the GPU time."""
        return json.loads(self.gpuprof("-q", "report", "--json", path))["shown"]["margin_ns"]

    @rig.requires("opencl")
    def test_subsets_and_merged_profiles_keep_the_intervals(self):
        profile, _ = self.record_loop("8", "--interval", "50ms", launches=4 * LAUNCHES)
        weighted = sum(int(row[2]) for row in profile.of("WEIGHTED"))
        self.assertEqual(weighted, profile.coverage()["weighted"])
        margin = self.margin(self.profile_path)
        self.assertGreater(margin, 0)
        part, folder, again = (os.path.join(self.folder, name) for name in ("part.txt", "parts", "again.txt"))
        self.gpuprof("-q", "filter", "--kernel", ".", self.profile_path, "-o", part)
        self.gpuprof("-q", "split", "--by", "time=200ms", "-o", folder, self.profile_path)
        self.gpuprof("-q", "merge", folder, "-o", again)
        for path in (part, again):
            self.assertAlmostEqual(self.margin(path), margin, delta=margin / 1000)
        functions = json.loads(self.gpuprof("-q", "report", "--json", self.profile_path))["functions"]
        self.assertTrue(functions and all(function["margin_ns"] > 0 for function in functions), functions)
        self.assertRegex(self.gpuprof("-q", "report", self.profile_path), r"total +direct +time +\+- +calls  function")
        self.assertRegex(self.gpuprof("-q", "annotate", "--cpu", self.profile_path), r"total +share +\+- +line  ")

    @rig.requires("opencl")
    def test_work_in_fewer_than_20_windows_is_called_rare(self):
        profile, _ = self.record_loop("1")
        self.assertLess(len(self.weights(profile)), 20)
        report = json.loads(self.gpuprof("-q", "report", "--json", self.profile_path))
        for kind in ("work", "functions", "call_paths"):
            self.assertEqual({line["rare"] for line in report[kind]}, {True}, report[kind])
        text = self.gpuprof("-q", "report", self.profile_path)
        self.assertRegex(text, r"time +\+- [^\n]*\n[^\n]* rare [^\n]* empty\n")
        self.assertRegex(self.gpuprof("-q", "annotate", "--cpu", self.profile_path), r"% +rare ")

    @rig.requires("opencl")
    def test_recording_on_a_cpu_device_is_said_to_slow_kernels_down(self):
        note = r"note: kernels run on the CPU,\s+and recording slows them down"
        self.record([rig.EXAMPLE, "--launches", "10"], options=["--max-overhead", "1"])
        self.assertRegex(self.gpuprof("-q", "report", self.profile_path), note)
        self.record([rig.EXAMPLE, "--launches", "10"])
        self.assertNotRegex(self.gpuprof("-q", "report", self.profile_path), note)

    @rig.requires("opencl")
    def test_the_recorder_polls_less_often_with_a_limit(self):
        switches = {}
        for limit in ((), ("--max-overhead", "100")):  # with this limit, all is recorded
            command = [rig.GPUPROF, "-q", "record", *limit, "-o", self.profile_path, "--", LOOP, "--launches", str(100 * LAUNCHES)]
            recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                rig.wait_for(lambda: rig.has_line(self.profile_path, "GPU"))
                before = voluntary_switches(recorder.pid)
                time.sleep(1)
                switches[limit] = voluntary_switches(recorder.pid) - before
            finally:
                recorder.terminate()
                recorder.wait(30)
            os.unlink(self.profile_path)
        self.assertLess(switches[("--max-overhead", "100")], 150, switches)

    @rig.requires("opencl")
    def test_each_output_says_that_it_is_an_estimate(self):
        profile, _ = self.record_loop("1")
        self.assertGreater(max(self.weights(profile)), 1)
        svg = os.path.join(self.folder, "flame.svg")
        self.gpuprof("flame", "--svg", svg, "-i", self.profile_path)
        with open(svg, encoding="utf-8") as file:
            self.assertIn(NOTICE, file.read())
        for command in (("report",), ("report", "--json"), ("export", "--format", "json"), ("export", "--format", "csv"),
                        ("export", "--format", "speedscope")):
            with self.subTest(command=command):
                self.assertIn(NOTICE, self.gpuprof("-q", *command, "-i", self.profile_path))

    @rig.requires("opencl")
    def test_each_comparison_says_that_it_is_one_of_estimates(self):
        self.record_loop("1")
        other = self.profile_path + ".first"
        os.rename(self.profile_path, other)
        self.record_loop("1")
        run = self.run_command([rig.GPUPROF, "diff", "--json", other, self.profile_path])
        self.assertIn(b"its numbers are estimates", run.stderr)
        self.assertIn(b'"estimate":true', run.stdout)
        ranks = self.gpuprof("-q", "ranks", "--by", "pid", other, self.profile_path, expect=(0, 1, 4, 125))
        self.assertIn("All numbers are estimates", ranks)

    @rig.requires("opencl")
    def test_no_busy_and_idle_time_is_stated(self):
        self.record_loop("1")
        part = os.path.join(self.folder, "part.txt")
        self.gpuprof("-q", "filter", "--kernel", ".", self.profile_path, "-o", part)
        for arguments in (["-i", self.profile_path], ["--from", "0s", "--to", "60s", "-i", self.profile_path], ["-i", part]):
            with self.subTest(arguments=arguments):
                report = self.gpuprof("-q", "report", *arguments)
                self.assertIn("GPU time", report)
                self.assertNotRegex(report, "busy|idle")

    @rig.requires("opencl")
    def test_a_subset_and_a_merged_profile_keep_the_estimate(self):
        self.record_loop("1")
        part = os.path.join(self.folder, "part.txt")
        self.gpuprof("-q", "filter", "--kernel", ".", self.profile_path, "-o", part)
        self.assertEqual(self.counted(part), MADE)
        other = self.profile_path + ".first"
        os.rename(self.profile_path, other)
        self.record_loop("1")
        merged = os.path.join(self.folder, "merged.txt")
        self.gpuprof("-q", "merge", other, self.profile_path, "-o", merged)
        self.assertEqual(self.counted(merged), 2 * MADE)
        self.assertIn(NOTICE, self.gpuprof("-q", "report", "--json", "-i", merged))

    @rig.requires("opencl")
    def test_below_the_limit_all_is_recorded(self):
        profile, stderr = self.record([rig.EXAMPLE, "--launches", "100"], options=["--max-overhead", "100"])
        self.assertEqual(set(self.weights(profile)), {1})
        self.assertEqual(profile.end()["gpu_records"], 300, stderr)
        self.assertNotIn("between_windows", profile.coverage())
        self.assertNotIn("estimate", stderr)
        self.assertNotIn(NOTICE, self.gpuprof("-q", "report", "--json", "-i", self.profile_path))


if __name__ == "__main__":
    rig.main()
