#!/usr/bin/env python3
"""Tests --from and --to: adjacent windows hold each work item exactly once, in all commands. Output without time slices
is marked as covering the complete recording."""

import contextlib
import csv
import io
import json
import os
import sqlite3
import subprocess

import rig

GOLDEN = os.path.join(rig.SOURCE, "test/golden")
TRAIN = os.path.join(GOLDEN, "options/train.txt")
STALLS = os.path.join(GOLDEN, "stalls.txt")
COUNTED = os.path.join(GOLDEN, "counted.txt")
WHOLE = ("losses", "coverage", "coverage_percent", "launches", "meta", "unsampled", "lost_gpu_work")


class WindowTest(rig.RuntimeTest):
    def report(self, *options, profile=TRAIN):
        return json.loads(self.gpuprof("-q", "report", "--json", "--top", "0", *options, profile))

    def counted_and_timed(self):
        """Returns a profile with instruction counts, which are in no slice, and one timed kernel."""
        with open(COUNTED, encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("END;")]
        path = os.path.join(self.folder, "counted.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines + ["META;interval_ns;1000000000\n", "WORK;900;0;0;0;0;0;0;0;0;0;kernel;0;0\n",
                                     "GPU;0;900;1;5;5;5;25;0;0\n"])
        return path

    def test_a_profile_with_only_counts_is_empty_in_every_window(self):
        self.assertEqual(self.gpuprof("-q", "report", "--to", "1s", COUNTED, expect=(4,)), "")

    def test_windows_add_up_to_the_recording(self):
        whole = self.report()
        parts = [self.report("--to", "1s"), self.report("--from", "1s")]
        for name in ("gpu_ns", "gpu_records", "with_stack", "count", "bytes", "samples"):
            self.assertEqual(sum(part[name] for part in parts), whole[name], name)
        self.assertTrue(all(part["gpu_ns"] < whole["gpu_ns"] for part in parts))
        self.assertNotIn("window", whole)
        self.assertEqual([part["window"] for part in parts],
                         [{"from_ns": 0, "to_ns": 1_000_000_000}, {"from_ns": 1_000_000_000}])
        for kind in ("work", "waits", "host_work"):
            sums = {}
            for part in parts:
                for line in part.get(kind, []):
                    sums[line["name"]] = sums.get(line["name"], 0) + line["ns"]
            expected = {}
            for line in whole.get(kind, []):
                expected[line["name"]] = expected.get(line["name"], 0) + line["ns"]
            self.assertEqual(sums, expected, kind)

    def test_data_without_a_time_slice_is_kept_complete(self):
        whole, part = self.report(), self.report("--to", "1s")
        for name in WHOLE:
            self.assertEqual(part.get(name), whole.get(name), name)
        with open(os.path.join(rig.SOURCE, "docs/schema/report.json"), encoding="utf-8") as page:
            said = json.load(page)["properties"]["window"]["description"]
        for name in WHOLE:
            self.assertIn(name, said)

    def test_the_report_names_its_window(self):
        text = self.gpuprof("-q", "report", "--from", "0.2s", "--to", "0.5s", TRAIN)
        self.assertRegex(text, r"(?m)^window +work that ended from 0s to 1s, in time slices of 1s$")
        self.assertRegex(text, r"(?m)^whole +not limited to the window: losses, coverage$")
        self.assertRegex(self.gpuprof("-q", "report", "--to", "1s", self.counted_and_timed()), r"coverage, counts at")
        self.assertNotRegex(self.gpuprof("-q", "report", TRAIN), r"(?m)^window ")

    def test_exports_of_all_windows_add_up_to_the_recording(self):
        def rows(*options):
            return list(csv.DictReader(io.StringIO(self.gpuprof("-q", "export", "--format", "csv", *options, TRAIN))))
        sums = [sum(int(row["gpu_ns"]) for row in rows(*options))
                for options in ((), ("--to", "1s"), ("--from", "1s"))]
        self.assertEqual(sums[0], sums[1] + sums[2])
        self.assertTrue(sums[1] and sums[2])
        part = json.loads(self.gpuprof("-q", "export", "--format", "json", "--to", "1s", TRAIN))
        self.assertEqual((part["totals"]["gpu_ns"], part["window"]), (sums[1], {"from_ns": 0, "to_ns": 1_000_000_000}))
        path = os.path.join(self.folder, "part.db")
        self.gpuprof("-q", "export", "--format", "sqlite", "--from", "1s", "-o", path, TRAIN)
        with contextlib.closing(sqlite3.connect(path)) as database:
            self.assertEqual(database.execute("SELECT SUM(gpu_ns) FROM measured").fetchone()[0], sums[2])
            self.assertEqual(database.execute("SELECT key, value FROM meta WHERE key LIKE 'window.%'").fetchall(),
                             [("window.from_ns", "1000000000")])

    def test_annotate_shows_the_samples_of_the_window(self):
        whole = self.report(profile=STALLS)["samples"]
        self.assertGreater(whole, 0)
        self.assertTrue(self.gpuprof("-q", "annotate", "--from", "0s", "--to", "1000s", STALLS))
        for command in ("annotate", "report"):
            self.gpuprof("-q", command, "--from", "5000s", STALLS, expect=(4,))

    def test_a_window_without_work_is_an_error(self):
        for command in (["report"], ["report", "--json"], ["annotate"], ["export", "--format", "csv"],
                        ["export", "--format", "sqlite", "-o", os.path.join(self.folder, "none.db")]):
            with self.subTest(command):
                profile = STALLS if command[0] == "annotate" else TRAIN
                self.assertEqual(self.gpuprof("-q", *command, "--from", "5000s", profile, expect=(4,)), "")
                self.gpuprof("-q", *command, "--from", "2s", "--to", "1s", profile, expect=(2,))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "none.db")))

    def test_a_window_that_was_not_recorded_is_named_as_such(self):
        def profile(window):
            path = os.path.join(self.folder, "last.txt")
            with open(TRAIN, encoding="utf-8") as file:
                lines = [line for line in file if not line.startswith("WINDOW;")]
            end = next(i for i, line in enumerate(lines) if line.startswith("END;"))
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(lines[:end] + [window] + lines[end:])
            return path

        path = profile("WINDOW;2000000000;4000000000\n")  # the recording started at 1 s
        output = ["-o", os.path.join(self.folder, "none.txt")]
        for command in (["report"], ["flame"], ["export", "--format", "csv"], ["annotate", "--cpu"], ["filter", *output]):
            with self.subTest(command):
                run = self.run_command([rig.GPUPROF, *command, "--from", "7s", "--to", "9s", path])
                self.assertEqual(run.returncode, 4)
                self.assertIn("nothing was recorded from 7s to 9s\n  hint: the recorded time is from 1.00 s to 3.00 s\n",
                              run.stderr.decode())
        path = profile("WINDOW;2000000000;9500000000\n")  # this time was recorded, but has no work
        run = self.run_command([rig.GPUPROF, "report", "--from", "7s", "--to", "9s", path])
        self.assertIn("no work ended from 7s to 9s", run.stderr.decode())

    def test_timelines_and_histograms_reject_a_window(self):
        for form in ("perfetto", "chrome"):
            self.gpuprof("-q", "export", "--format", form, "--from", "1s", TRAIN, expect=(2,))
            cut = subprocess.run([rig.GPUPROF, "filter", "--to", "1s", TRAIN], capture_output=True, check=True).stdout
            path = os.path.join(self.folder, form)
            subprocess.run([rig.GPUPROF, "-q", "export", "--format", form, "-o", path], input=cut, check=True)
        self.gpuprof("-q", "latency", "--from", "1s", TRAIN, expect=(2,))


if __name__ == "__main__":
    rig.main()
