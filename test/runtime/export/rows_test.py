#!/usr/bin/env python3
"""Tests `export --format json|csv|folded|speedscope`: the rows hold exactly the numbers that `flame` shows."""

import collections
import csv
import io
import json
import os
import re

import rig

GOLDEN = os.path.join(rig.SOURCE, "test/golden")
PROFILES = [os.path.join(GOLDEN, name + ".txt") for name in
            ("train", "stalls", "samples_and_times", "python", "published", "launches", "hostile", "options/train")]
WEIGHTS = {"gpu_ns": "time", "launches": "count", "bytes": "bytes", "samples": "samples"}
SUFFIXES = {"kernel": "_[k]", "gpu": "_[G]", "gpu_detail": "_[g]"}
# Values that speedscope's file-format-schema.json allows for sampled profiles.
UNITS = ("bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds")


def with_suffix(frame):
    """Returns a frame of the JSON as a folded stack writes it."""
    label, suffix = frame["label"].replace(";", ":").replace("\\x0a", " "), SUFFIXES.get(frame["kind"], "")
    return label if label.endswith(suffix) else label + suffix


class RowsTest(rig.RuntimeTest):
    def export(self, form, profile, *options):
        return self.gpuprof("-q", "export", "--format", form, "--lenient", *options, profile)

    def flame(self, profile, weight, *options):
        text = self.gpuprof("-q", "flame", "--weight", weight, "--lenient", "--unit", "ns", *options, profile,
                            expect=(0, 4))
        return rig.parse_folded(text)

    def sums(self, profile, of_samples):
        """Returns {weight: sum} from flame; queue_ns comes from the profile's lines."""
        sums = {name: sum(value for _, value in self.flame(profile, weight)) for name, weight in WEIGHTS.items()}
        if of_samples:
            sums["launches"] = 0  # for this profile, `flame --weight count` counts samples
        return {**sums, "queue_ns": sum(int(row[7]) for row in rig.Profile(profile).of("GPU"))}

    def test_json_has_the_sums_and_stacks_of_flame(self):
        for profile in PROFILES:
            with self.subTest(profile):
                whole = json.loads(self.export("json", profile))
                sums = collections.Counter()
                stacks = collections.Counter()
                for row in whole["rows"]:
                    sums.update({name: row.get(name, 0) for name in whole["totals"]})
                    frames = [with_suffix(whole["frames"][at]) for at in row["stack"]]
                    if row.get("gpu_ns"):
                        stacks[";".join(frames)] += row["gpu_ns"]
                self.assertEqual(dict(sums), whole["totals"])
                only_samples = sums["samples"] > 0 and sums["launches"] == 0
                self.assertEqual(dict(sums), self.sums(profile, only_samples))
                if "hostile" not in profile and not only_samples:  # the hostile profile has bytes that JSON escapes
                    flame = self.flame(profile, "time", "--leaf", "kernel")
                    self.assertEqual(dict(stacks), {";".join(frames): ns for frames, ns in flame})

    def test_csv_readers_get_the_written_values(self):
        for profile in PROFILES:
            with self.subTest(profile):
                whole = json.loads(self.export("json", profile))
                text = self.run_command([rig.GPUPROF, "-q", "export", "--format", "csv", "--lenient", profile]).stdout
                rows = list(csv.DictReader(io.StringIO(text.decode("utf-8"), newline=""), strict=True))
                rows = [row for row in rows if row["op"] != "note"]
                self.assertEqual(len(rows), len(whole["rows"]))
                for row, other in zip(rows, whole["rows"]):
                    for name in whole["totals"]:
                        self.assertEqual(int(row[name]), other.get(name, 0))
                    for name in ("process", "rank", "host", "thread", "device", "range", "op", "name", "stall"):
                        self.assertEqual(row[name], other.get(name, ""))
                    for name in ("pid", "tid"):
                        self.assertEqual(row[name], str(other.get(name, "")))
                    self.assertEqual(row["stream"] != "", "stream" in other)
                    self.assertNotIn(None, row)
                    self.assertTrue(row["stack"])

    def test_folded_output_equals_that_of_flame(self):
        for profile in PROFILES:
            with self.subTest(profile):
                only_samples = "published" in profile
                weight = "samples" if only_samples else "count" if "launches" in profile else "time"
                leaf = [] if only_samples else ["--leaf", "kernel"]
                expected = self.gpuprof("-q", "flame", "--weight", weight, "--lenient", "--unit", "ns", *leaf, profile)
                self.assertEqual(self.export("folded", profile), expected)

    def test_speedscope_follows_its_format(self):
        for profile in PROFILES:
            with self.subTest(profile):
                file = json.loads(self.export("speedscope", profile))
                self.assertEqual(file["$schema"], "https://www.speedscope.app/file-format-schema.json")
                self.assertEqual(set(file), {"$schema", "exporter", "name", "activeProfileIndex", "profiles", "shared"})
                frames = file["shared"]["frames"]
                for frame in frames:
                    self.assertLessEqual(set(frame), {"name", "file", "line"})
                    self.assertIsInstance(frame["name"], str)
                self.assertEqual(len({json.dumps(frame) for frame in frames}), len(frames))
                totals = json.loads(self.export("json", profile))["totals"]
                ends = []
                for one in file["profiles"]:
                    self.assertEqual(set(one), {"type", "name", "unit", "startValue", "endValue", "samples", "weights"})
                    self.assertEqual((one["type"], one["startValue"]), ("sampled", 0))
                    self.assertIn(one["unit"], UNITS)
                    self.assertEqual(len(one["samples"]), len(one["weights"]))
                    self.assertEqual(sum(one["weights"]), one["endValue"])
                    self.assertTrue(all(0 <= at < len(frames) for sample in one["samples"] for at in sample))
                    ends.append(one["endValue"])
                self.assertEqual(sorted(ends), sorted(total for total in totals.values() if total))

    def test_stack_options_work_in_all_formats(self):
        profile = os.path.join(GOLDEN, "python.txt")
        for form in ("json", "csv", "folded", "speedscope"):
            self.assertIn("Trainer.fit", self.export(form, profile))
            self.assertNotIn("Trainer.fit", self.export(form, profile, "--hide", "^Trainer"))

    def test_a_function_that_is_in_no_stack_is_reported_in_all_formats(self):
        for form in ("pprof", "json", "csv", "folded", "speedscope"):
            run = self.run_command([rig.GPUPROF, "export", "--format", form, "--root", "nosuch", "-o", "out",
                                    os.path.join(GOLDEN, "python.txt")])
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(b"no stack has a function 'nosuch'", run.stderr, form)

    def test_folded_import_escapes_control_bytes(self):
        with open(os.path.join(GOLDEN, "import/semicolons.txt"), "rb") as file:
            text = file.read().replace(b";matmul\n", b";p\xc2\x9b31mX\xe2\x80\xae\xff\n")
        path = os.path.join(self.folder, "names.txt")
        with open(path, "wb") as file:
            file.write(text)
        out = self.run_command([rig.GPUPROF, "import", "--folded", path]).stdout
        self.assertIn(rb"p\xc2\x9b31mX\xe2\x80\xae\xff;4242;", out)

    def test_folded_import_has_the_dash_of_iaprof_after_the_kernel_frames(self):
        """Texts with id 0 are empty, as in iaprof."""
        path = os.path.join(self.folder, "kernel_frames.txt")
        with open(path, "w", encoding="ascii") as file:
            file.write("string\t1\tapp\nstring\t2\tmain;run;\nstring\t3\tioctl;xe_exec;\nstring\t4\tsbid\n"
                       "eustall\t1\t7\t2\t3\t0\t0\t0\t0\t0\t4\t0x10\t5\n")
        out = self.run_command([rig.GPUPROF, "import", "--folded", path]).stdout
        self.assertEqual(out, b"app;7;main;run;ioctl;xe_exec;-;_[G];_[G];_[g];sbid_[g];0x10_[g] 5\n")

    def test_names_may_contain_every_byte(self):
        profile = os.path.join(self.folder, "bytes.txt")
        with open(profile, "w", encoding="ascii") as file:
            file.write("GPUPROF;3.0\nSTRING;1;app\nPROCESS;1;7;1;5;1;0;0;0\n")
            for i in range(10_000):
                name = "".join(f"\\x{(i + j) % 256:02x}" for j in range(3))
                file.write(f"STRING;{i + 2};{name}{i}\nWORK;{i + 1};1;7;{i + 2};0;0;0;0;0;0;kernel;{i + 2};0\n"
                           f"GPU;0;{i + 1};1;{i};{i};{i};{i * i};0;0\n")
        total = sum(range(10_000))
        whole = json.loads(self.export("json", profile))
        self.assertEqual(sum(row.get("gpu_ns", 0) for row in whole["rows"]), total)
        self.assertEqual(len({row["name"] for row in whole["rows"]}), 10_000)
        text = self.run_command([rig.GPUPROF, "-q", "export", "--format", "csv", "--lenient", profile]).stdout
        rows = list(csv.DictReader(io.StringIO(text.decode("utf-8"), newline=""), strict=True))
        self.assertEqual(sum(int(row["gpu_ns"]) for row in rows), total)
        self.assertEqual(sum(json.loads(self.export("speedscope", profile))["profiles"][0]["weights"]), total)
        self.assertEqual(sum(ns for _, ns in rig.parse_folded(self.export("folded", profile))), total)
        self.assertFalse(re.search(rb"[\x00-\x09\x0b\x0c\x0e-\x1f]", text))

    def test_failures_are_reported(self):
        profile = os.path.join(GOLDEN, "train.txt")
        for form in ("pprof", "json", "csv", "folded", "speedscope"):
            run = self.run_command(["bash", "-c", f"{rig.GPUPROF} export --format {form} {profile} > /dev/full"])
            self.assertEqual(run.returncode, 1)
            self.assertIn(b"No space left", run.stderr)
            run = self.run_command([rig.GPUPROF, "export", "--format", form, "-o", "out",
                                    os.path.join(GOLDEN, "no_work.txt")])
            self.assertEqual(run.returncode, 4)
            run = self.run_command([rig.GPUPROF, "export", "--format", form, "-o", "no/such/folder/out", profile])
            self.assertEqual(run.returncode, 1)
            self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    rig.main()
