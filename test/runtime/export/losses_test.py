#!/usr/bin/env python3
"""Tests that every output of a lossy profile names the loss, by a walk over all of them."""

import contextlib
import csv
import io
import json
import os
import sqlite3
import tempfile

import perfetto_file
import pprof_file
import rig

LOSSY = os.path.join(rig.SOURCE, "test/golden/options/train.txt")
LOSS = "lost: ring_full 5"
COVERAGE = "91.36% of the GPU work is explained by a CPU stack: 614 of 672, of which 6 were lost"
# Commands that write to standard output, with all their options that change the form of the output.
PAGES = [["report"], ["report", "--full"], ["report", "--top", "1"], ["report", "--from", "1s"], ["flame", "--svg", "-"],
         ["flame", "--html", "-"], ["flame", "--time-series", "-"]]


class LossesTest(rig.RuntimeTest):
    def write(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".txt", dir=self.folder, delete=False, encoding="utf-8") as file:
            file.write(text)
        return file.name

    def export(self, form, profile=LOSSY):
        path = os.path.join(self.folder, "exported." + form)
        self.gpuprof("-q", "export", "--format", form, "--lenient", "-o", path, profile)
        with open(path, "rb") as file:
            return file.read()

    def sentences(self, form, profile=LOSSY):
        """Returns the sentences about losses that a file of this format holds."""
        data = self.export(form, profile)
        if form == "json":
            return json.loads(data)["missing"]
        if form == "csv":
            rows = list(csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True))
            notes = [row for row in rows if row["op"] == "note"]
            self.assertEqual(notes, rows[:len(notes)])
            for row in notes:
                self.assertNotIn(None, row)  # the row has as many fields as the header
                self.assertEqual({row[name] for name in ("gpu_ns", "launches", "queue_ns", "bytes", "samples")}, {"0"})
            return [row["name"] for row in notes]
        if form == "sqlite":
            with contextlib.closing(sqlite3.connect(os.path.join(self.folder, "exported.sqlite"))) as database:
                return [value for (value,) in database.execute("SELECT value FROM meta WHERE key = 'missing'")]
        if form == "pprof":
            return pprof_file.Pprof(data).comments
        if form == "speedscope":
            return json.loads(data)["name"].partition(" (")[2].removesuffix(")").split("; ")
        if form == "chrome":
            events = json.loads(data)["traceEvents"]
            return [event["name"] for event in events if event["ph"] == "i" and event.get("s") == "g"]
        trace = perfetto_file.Trace(data)
        return [name for track, name in trace.instants if track == "gpuprof: missing from this recording"]

    def test_every_file_names_the_loss(self):
        for form in ("json", "csv", "sqlite", "pprof", "speedscope", "chrome", "perfetto"):
            with self.subTest(form):
                found = self.sentences(form)
                self.assertIn(LOSS, found)
                self.assertIn(COVERAGE, found)
                path = os.path.join(self.folder, "said")
                run = self.run_command([rig.GPUPROF, "export", "--format", form, "-o", path, LOSSY])
                self.assertIn(LOSS, run.stderr.decode())
                self.assertIn(COVERAGE, run.stderr.decode())
        with open(LOSSY, encoding="utf-8") as file:
            text = file.read()
        complete = self.write("".join(line for line in text.splitlines(True)
                                      if not line.startswith(("LOSS;", "COVERAGE;"))))
        cut = self.write(text[:text.index("\nEND;") + 1] + "nonsense\n")
        for form in ("json", "csv", "sqlite", "pprof", "chrome", "perfetto"):
            with self.subTest(form):
                self.assertFalse([line for line in self.sentences(form, complete) if line.startswith("lost")])
                found = self.sentences(form, cut)
                self.assertIn("the profile is cut short: it has no END record", found)
                self.assertIn("bad lines skipped: 1", found)

    def test_every_page_names_the_loss(self):
        for page in PAGES:
            with self.subTest(page):
                self.assertIn(LOSS if page[0] == "flame" else "lost     ring_full 5", self.gpuprof("-q", *page, LOSSY))
        self.assertIn(LOSS, json.loads(self.gpuprof("-q", "report", "--json", LOSSY))["missing"])
        self.assertIn("5 records lost", " ".join(self.gpuprof("ranks", LOSSY, expect=(0, 1, 125)).split()))
        for command in ("flame", "annotate", "latency", "report"):
            run = self.run_command([rig.GPUPROF, command, LOSSY])
            self.assertIn("ring_full 5", (run.stdout + run.stderr).decode(), command)

    def test_the_loss_is_in_the_fourth_line_of_a_report_at_the_latest(self):
        with open(LOSSY, encoding="utf-8") as file:
            text = file.read()
        facts = "META;target.exit_status;0\nMETA;filter;--rank 3\nMETA;filter.left_out;CALL 3\n"
        path = self.write(text.replace("\nMETA;", "\n" + facts + "META;", 1))
        for options in ([], ["--from", "1s"], ["--full", "--top", "0"]):
            lines = self.gpuprof("-q", "report", *options, path).splitlines()
            self.assertIn("lost     ring_full 5, the GPU work of 6 launches", lines[:4])


if __name__ == "__main__":
    rig.main()
