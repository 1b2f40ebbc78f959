#!/usr/bin/env python3
"""Tests filter and split: the subsets that they write add up to the profile again."""

import json
import os
import shutil
import subprocess
import tempfile

import rig

GOLDEN = os.path.join(rig.SOURCE, "test/golden")
PROFILES = [os.path.join(GOLDEN, name) for name in (
    "train.txt", "stalls.txt", "launches.txt", "samples_and_times.txt", "counted.txt", "all_records.txt",
    "hostile.txt", "python.txt", "vendor_frames.txt", "zebin.txt", "cut.txt", "published.txt", "options/train.txt")]
TRAIN = os.path.join(GOLDEN, "options/train.txt")
BY = ("process", "rank", "device", "time=1s", "time=2s")
SUMS = ("gpu_ns", "gpu_records", "with_stack", "samples", "count", "bytes")


def resolved(export):
    """Returns the output of `export --format json` with frames in place of indexes into the frame table."""
    for row in export.get("rows", []):
        row["stack"] = json.dumps([export["frames"][frame] for frame in row["stack"]])
    export.pop("frames", None)
    return export


def tidy(value):
    """Sorts JSON lines of equal weight."""
    if isinstance(value, dict):
        return {key: tidy(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((tidy(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    return value


class PartsTest(rig.RuntimeTest):
    def path(self, name):
        return os.path.join(self.folder, name)

    def printed(self, profile):
        """Returns what the commands print for a profile, sorted so that the order of equal weights does not matter."""
        report = self.gpuprof("-q", "report", "--json", "--top", "0", profile, expect=(0, 4))
        flame = [sorted(self.gpuprof("-q", "flame", "--unit", "ns", *options, profile, expect=(0, 4)).splitlines())
                 for options in ((), ("--by", "pid,rank,device"), ("--weight", "samples"), ("--weight", "wait"))]
        export = self.gpuprof("-q", "export", "--format", "json", profile, expect=(0, 4))
        return tidy(json.loads(report)), flame, tidy(resolved(json.loads(export))) if export else None

    def report(self, profile):
        return json.loads(self.gpuprof("-q", "report", "--json", "--top", "0", profile, expect=(0, 4)))

    def test_ranks_says_that_only_parts_of_the_runs_were_recorded(self):
        with open(os.path.join(GOLDEN, "ranks/even.txt")) as file:
            lines = file.read().split("\n", 1)
        for key, value, saying in (("recording.window", "--delay 1 s", "--delay 1 s"), ("nvtx_range", "step", "--nvtx-range step")):
            path = self.path("part.txt")
            with open(path, "w") as file:
                file.write(f"{lines[0]}\nMETA;{key};{value}\n{lines[1]}")
            note = f"Recorded only a part of the program's run: {saying}."
            self.assertIn(note, self.gpuprof("ranks", "--width", "200", path))
            self.assertEqual(json.loads(self.gpuprof("ranks", "--json", path))["notes"], [note])
            self.assertIn(note, self.gpuprof("-q", "ranks", "--svg", "-", path).replace("&#39;", "'").replace("&apos;", "'"))

    def test_ranks_says_that_a_rank_is_the_sum_of_two_recordings(self):
        path, again, both = (self.path(name) for name in ("a.txt", "b.txt", "both.txt"))
        with open(os.path.join(GOLDEN, "ranks/even.txt"), encoding="utf-8") as file:
            text = file.read()
        for name, id in ((path, "00aa"), (again, "00bb")):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text.replace("\n", f"\nMETA;recording;{id}\n", 1).replace("PROCESS;1;100;", f"PROCESS;1;{int(id, 16)};"))
        said = self.gpuprof("-q", "ranks", "--json", path, again, expect=(0, 1, 125))
        self.assertIn("1 rank is the sum of several processes with GPU work: rank 0 of 2.", said)
        self.gpuprof("-q", "merge", "-o", both, path, again)
        self.assertIn("1 rank is the sum of several processes", self.gpuprof("-q", "ranks", "--json", both, expect=(0, 1, 125)))
        self.assertNotIn("the sum of several processes", self.gpuprof("-q", "ranks", "--json", path))

    def split_and_merge(self, profile, by):
        """Returns the folder of the split profiles, or None if the profile cannot be split by this key."""
        folder, again = tempfile.mktemp(dir=self.folder), tempfile.mktemp(dir=self.folder)
        run = self.run_command([rig.GPUPROF, "-q", "split", "--by", by, "-o", folder, profile])
        if run.returncode in (1, 2, 4):
            self.assertRegex(run.stderr.decode(), r"nothing to split|is missing|shorter than")
            self.assertFalse(os.path.exists(folder))
            return None
        self.assertEqual(run.returncode, 0, run.stderr)
        self.gpuprof("-q", "merge", folder, "-o", again)
        self.assertEqual(self.printed(again), self.printed(self.merged(profile)), (profile, by))
        return folder

    def merged(self, profile):
        path = tempfile.mktemp(dir=self.folder)
        self.gpuprof("-q", "merge", profile, "-o", path)
        return path

    def test_merged_subsets_print_the_same_as_the_profile(self):
        split = 0
        for profile in PROFILES:
            for by in BY:
                with self.subTest(profile=os.path.basename(profile), by=by):
                    split += self.split_and_merge(profile, by) is not None
        self.assertGreater(split, 30)

    @rig.requires("opencl")
    def test_a_recorded_profile_equals_its_merged_subsets(self):
        self.record([rig.EXAMPLE], ["--timeline", "--latency", "--interval", "50ms"])
        for by in ("process", "device", "time=100ms"):
            self.assertIsNotNone(self.split_and_merge(self.profile_path, by))

    def test_matching_and_other_work_add_up_to_the_profile(self):
        splits = 0
        for profile in PROFILES:
            whole = self.report(profile)
            for option in (["--to", "1s"], ["--process", "4242"], ["--rank", "0-3"], ["--device", "0"],
                           ["--kernel", "a"], ["--path", "train|main"]):
                one, other = self.path("one.txt"), self.path("other.txt")
                status = [self.run_command([rig.GPUPROF, "-q", "filter", *option, *invert, "-o", name, profile]).returncode
                          for name, invert in ((one, []), (other, ["--not"]))]
                self.assertTrue(set(status) <= {0, 1, 4}, status)
                if status != [0, 0]:
                    continue
                splits += 1
                parts = [self.report(one), self.report(other)]
                for name in SUMS:
                    self.assertEqual(sum(part[name] for part in parts), whole[name], (profile, option, name))
                self.assertEqual(parts[0]["warnings"] + parts[1]["warnings"], [])
        self.assertGreater(splits, 8)

    def test_time_windows_select_the_same_as_in_report(self):
        for option in (["--from", "1s"], ["--to", "1s"], ["--from", "0.2s", "--to", "0.5s"]):
            path = self.path("part.txt")
            self.gpuprof("-q", "filter", *option, "-o", path, TRAIN)
            part = self.report(path)
            window = json.loads(self.gpuprof("-q", "report", "--json", "--top", "0", *option, TRAIN))
            for name in (*SUMS, "work", "call_paths"):
                self.assertEqual(part[name], window[name], name)

    def test_kernel_and_path_filters_select_the_same_as_in_report(self):
        for option in (["--kernel", "gemm"], ["--path", "train_step"]):
            part = self.gpuprof("-q", "filter", *option, TRAIN)
            with open(self.path("part.txt"), "w", encoding="utf-8") as file:
                file.write(part)
            shown = json.loads(self.gpuprof("-q", "report", "--json", "--top", "0", *option, TRAIN))
            self.assertEqual(self.report(self.path("part.txt"))["work"], shown["work"])

    def test_a_subset_is_marked_as_a_subset(self):
        path = self.path("part.txt")
        self.gpuprof("-q", "filter", "--to", "1s", "--kernel", "a b|e", "-o", path, TRAIN)
        text = self.gpuprof("-q", "report", path)
        self.assertRegex(text, r"(?m)^part +only what matches --to 1s --kernel 'a b\|e'$")
        run = self.run_command([rig.GPUPROF, "flame", path])
        self.assertIn(b"the profile is a subset of another", run.stderr)
        folder = self.path("parts")
        self.gpuprof("-q", "split", "--by", "process", "-o", folder, TRAIN)
        part = sorted(os.listdir(folder))[0]
        self.assertRegex(self.gpuprof("-q", "report", os.path.join(folder, part)),
                         r"(?m)^part +process \d+ .*, of a profile split by process$")

    def test_idle_time_stays_an_upper_limit_in_a_subset_by_time(self):
        source = self.path("lossy.txt")
        with open(TRAIN, encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith(("LOSS;", "META;attach", "META;sweep.late_ns"))]
        for coverage, expected in (("COVERAGE;1;between_windows;5\n", True), ("", False)):
            with open(source, "w", encoding="utf-8") as file:
                kept = [line for line in lines if not (line.startswith("COVERAGE;") and ";without_record;" in line)]
                file.writelines(kept[:-1] + [coverage] + kept[-1:])
            part, pieces = self.path(f"{expected}.txt"), self.path(f"pieces-{expected}")
            self.gpuprof("-q", "filter", "--to", "1s", "-o", part, source)
            self.gpuprof("-q", "split", "--by", "time=1s", "-o", pieces, source)
            merged = self.path(f"merged-{expected}.txt")
            self.gpuprof("-q", "merge", pieces, "-o", merged)
            with open(merged, encoding="utf-8") as file:
                self.assertNotIn("lacks_gpu_work", file.read())
            window = self.gpuprof("-q", "report", "--to", "1s", source)
            for text in (window, self.gpuprof("-q", "report", part),
                         self.gpuprof("-q", "report", os.path.join(pieces, "time-000000.txt"))):
                self.assertEqual("idle at most" in text, expected, text)
                self.assertIn("idle", text)

    def test_a_subset_cannot_be_compared_with_a_complete_run(self):
        runs, parts = [], []
        with open(TRAIN, encoding="utf-8") as file:
            text = file.read()
        for i in range(6):
            runs.append(self.path(f"run{i}.txt"))
            parts.append(self.path(f"part{i}.txt"))
            with open(runs[-1], "w", encoding="utf-8") as out:
                out.write(text.replace("META;start_unix_ns;", f"META;start_unix_ns;{i + 1}"))
            self.gpuprof("-q", "filter", "--kernel", "gemm", "-o", parts[-1], runs[-1])
        # `check` must not report an improvement only because the filter has removed kernels from one side.
        text = self.gpuprof("check", *runs[:3], "--", *parts[3:], expect=(125,))
        self.assertRegex(text, r"not the same subset of a run: the complete profile \(\S+\) and only what matches\s+--kernel gemm\s")
        self.assertNotIn("not the same subset", self.gpuprof("check", *parts[:3], "--", *parts[3:], expect=(0, 125)))
        run = self.run_command([rig.GPUPROF, "diff", runs[0], parts[1]])
        self.assertIn(b"part1.txt: the profile is a subset of another: only what matches --kernel gemm", run.stderr)

    @rig.requires("opencl")
    def test_a_recording_counts_once(self):
        profile, _ = self.record([rig.EXAMPLE], ["--interval", "50ms"])
        ns = profile.end()["gpu_ns"]
        os.mkdir(self.path("run"))
        first, other = self.path("run/a.txt"), self.path("run/b.txt")
        os.rename(self.another_recording(), other)
        shutil.copy(self.profile_path, first)
        self.gpuprof("merge", "run", "-o", self.path("run/merged.txt"))
        shutil.copy(first, self.path("run/copy.txt"))
        self.gpuprof("filter", "--kernel", "heavy", first, "-o", self.path("run/part.txt"))
        run = self.run_command([rig.GPUPROF, "merge", "run", first, "-o", self.path("all.txt")])
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(rig.Profile(self.path("all.txt")).end()["gpu_ns"], 2 * ns)
        for name, holder in (("copy.txt", "a.txt holds"), ("part.txt", "a.txt holds"), ("merged.txt", "a.txt and other inputs hold")):
            self.assertIn(f"run/{name} is ignored: run/{holder} the same work, which would count twice", run.stderr.decode())
        self.assertIn(f"{first} is named more than once: it is read once", run.stderr.decode())
        # The recordings of the two profiles had the same clock and device.
        report = self.report(self.path("all.txt"))
        device, = (one for one in report["devices"] if one["ns"])
        one, = (one for one in self.report(first)["devices"] if one["ns"])
        self.assertEqual((device["wall_ns"], device["overlap"]), (one["wall_ns"], True))
        run = self.run_command([rig.GPUPROF, "diff", first, "run/copy.txt"])
        self.assertRegex(run.stderr, rb"run/copy.txt has a recording in common with .*: it is compared with itself")
        for name in ("last_1.txt", "last_2.txt"):  # as of --last
            with open(first, encoding="utf-8") as file, open(self.path(name), "w", encoding="utf-8") as out:
                out.write(file.read().replace("META;recording;", "META;recording.part;"))
        run = self.run_command([rig.GPUPROF, "diff", self.path("last_1.txt"), self.path("last_2.txt")])
        self.assertIn(b", which is in both only partly: the parts may overlap", run.stderr)
        with open(first, encoding="utf-8") as file, open(self.path("cut.txt"), "w", encoding="utf-8") as out:
            out.writelines(line for line in file if not line.startswith(("SHARE", "IDLE", "WINDOW", "END")))
        self.gpuprof("merge", self.path("cut.txt"), other, "-o", self.path("with_cut.txt"))
        device, = (one for one in self.report(self.path("with_cut.txt"))["devices"] if one["ns"])
        self.assertEqual(device["wall_ns"], 0, "the cut recording lacks its busy and idle time")
        self.gpuprof("filter", "--not", "--kernel", "heavy", first, "-o", self.path("rest.txt"))
        run = self.run_command([rig.GPUPROF, "merge", "run/part.txt", "rest.txt", "-o", self.path("no.txt")])
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, rb"cannot merge \S+\.txt and \S+\.txt: both hold a part of one recording")
        self.assertFalse(os.path.exists(self.path("no.txt")))
        self.gpuprof("split", "--by", "time=50ms", "-o", self.path("times"), first)
        self.gpuprof("merge", "times", "-o", self.path("joined.txt"))
        self.gpuprof("merge", "joined.txt", other, "-o", self.path("both.txt"))
        self.gpuprof("merge", "both.txt", first, "joined.txt", "-o", self.path("all.txt"))
        self.assertEqual(rig.Profile(self.path("all.txt")).end()["gpu_ns"], 2 * ns)

    def test_subsets_of_two_recordings_are_not_a_complete_profile(self):
        # These profiles have no time and no host, like profiles of other tools.
        with open(self.path("whole.txt"), "w", encoding="utf-8") as file:
            file.write("GPUPROF;3.2\n")
            for i in (1, 2):
                file.write(f"PROCESS;{i};{i};0;0;0;0;0;0\nWORK;{i};{i};0;0;0;0;0;0;0;0;kernel;0;0\n"
                           f"GPU;0;{i};1;5;5;5;25;0;0\n")
        for name in ("one", "two"):
            self.gpuprof("-q", "split", "--by", "process", "-o", self.path(name), "whole.txt")
        names = sorted(os.listdir(self.path("one")))
        parts = [os.path.join(self.path(name), file) for name, file in zip(("one", "two"), names)]
        self.gpuprof("-q", "merge", *parts, "-o", self.path("mixed.txt"))
        run = self.run_command([rig.GPUPROF, "report", self.path("mixed.txt")])
        self.assertIn(b"the profile is a subset of another", run.stderr)

    def test_losses_are_reported_before_subsets_hide_them(self):
        path = self.path("missing.txt")
        with open(TRAIN, encoding="utf-8") as file, open(path, "w", encoding="utf-8") as out:
            out.writelines(line for line in file if not line.startswith("GPU;0;1;"))
        told = b"the END record counts 666 GPU records, the records before it sum up to 566"
        for arguments in (["split", "--by", "process", "-o", self.path("parts")],
                          ["filter", "--device", "0", "-o", self.path("p")]):
            run = self.run_command([rig.GPUPROF, *arguments, path])
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(told, run.stderr)

    def test_an_empty_output_folder_keeps_its_permissions(self):
        private, shared = self.path("private"), self.path("shared")
        os.mkdir(private)
        os.chmod(private, 0o700)
        self.gpuprof("-q", "split", "--by", "process", "-o", private, TRAIN)
        self.assertEqual(os.stat(private).st_mode & 0o7777, 0o700)
        os.mkdir(shared)
        os.chmod(shared, 0o2775)
        self.gpuprof("-q", "split", "--by", "process", "-o", os.path.join(shared, "parts"), TRAIN)
        self.assertTrue(os.stat(os.path.join(shared, "parts")).st_mode & 0o2000)

    def test_a_subset_keeps_only_the_strings_that_it_needs(self):
        text = self.gpuprof("-q", "filter", "--kernel", "gemm", TRAIN)
        strings = {line.split(";", 2)[2] for line in text.splitlines() if line.startswith("STRING;")}
        self.assertTrue(any("gemm" in name for name in strings))
        self.assertFalse(any("vectorized_elementwise" in name for name in strings))
        ids = [int(line.split(";")[1]) for line in text.splitlines() if line.startswith("STRING;")]
        self.assertEqual(ids, list(range(1, len(ids) + 1)))

    def test_process_names_cannot_leave_the_output_folder(self):
        path = self.path("hostile.txt")
        names = ["../../evil", "..", "a/b", "\\x00\\x01\\xff", "", "-rf", "x" * 5000, "con\\x3b\\x0arest", "rest"]
        with open(path, "w", encoding="utf-8") as file:
            file.write("GPUPROF;3.2\n")
            for i, name in enumerate(names, 1):
                file.write(f"STRING;{i};{name}\nPROCESS;{i};7;0;0;{i};0;{i};0\nWORK;{i};{i};0;0;0;0;0;0;0;0;kernel;0;0\n"
                           f"GPU;0;{i};1;{i};{i};{i};0;0;0\n")
            file.write(f"END;0;9;9;45;0;0;0\n")
        for by in ("process", "rank"):
            folder = self.split_and_merge(path, by)
            self.assertFalse([name for name in os.listdir(folder)
                              if not name.startswith((f"{by}-", f"{by}.", "rest")) or len(name) > 80])
        self.assertFalse(os.path.exists(os.path.join(self.folder, "evil")))
        self.assertEqual(len([name for name in os.listdir(folder) if name.startswith("rank")]), 9)

    def test_split_overwrites_nothing(self):
        folder = self.path("parts")
        os.mkdir(folder)
        self.gpuprof("-q", "split", "--by", "process", "-o", folder, TRAIN)
        before = sorted(os.listdir(folder))
        self.assertTrue(before)
        for place in (folder, folder + "/", os.path.join(folder, before[0]), ".", "/", "/dev/null", "/nowhere/x"):
            run = self.run_command([rig.GPUPROF, "split", "--by", "process", "-o", place, TRAIN])
            self.assertIn(run.returncode, (1, 2), place)
            self.assertRegex(run.stderr.decode(), r"^gpuprof: error: [^\n]+\n  hint: ")
        self.assertEqual(sorted(os.listdir(folder)), before)
        os.symlink(folder, self.path("link"))
        self.run_command([rig.GPUPROF, "split", "--by", "process", "-o", self.path("link"), TRAIN])
        self.assertEqual(sorted(os.listdir(folder)), before)

    def test_a_failed_command_leaves_no_files(self):
        broken = self.path("broken.txt")
        with open(TRAIN, encoding="utf-8") as file, open(broken, "w", encoding="utf-8") as out:
            out.write(file.read().replace("END;", "GPU;x\nEND;"))
        os.mkdir(self.path("out"))
        for arguments in (["split", "--by", "process", "-o", self.path("out/parts"), broken],
                          ["split", "--by", "process", "-o", self.path("out/parts"), os.devnull],
                          ["filter", "--to", "1s", "-o", self.path("out/p.txt"), broken]):
            run = self.run_command([rig.GPUPROF, *arguments])
            self.assertEqual(run.returncode, 1, run.stderr)
            self.assertEqual(os.listdir(self.path("out")), [])
        run = subprocess.run(["sh", "-c", f"ulimit -f 1; exec '{rig.GPUPROF}' split --by time=1s -o out/parts '{TRAIN}'"],
                             cwd=self.folder, capture_output=True, check=False)
        self.assertNotIn(run.returncode, (0, -25))
        self.assertEqual(os.listdir(self.path("out")), [])
        self.gpuprof("-q", "split", "--lenient", "--by", "process", "-o", self.path("out/parts"), broken)

    def test_lines_that_could_not_be_read_stay_counted(self):
        broken, merged, again, kept = (self.path(name) for name in ("broken.txt", "merged.txt", "again.txt", "kept.txt"))
        with open(TRAIN, encoding="utf-8") as file, open(broken, "w", encoding="utf-8") as out:
            out.write(file.read().replace("END;", "GPU;x\nGPU;y\nEND;"))
        self.gpuprof("-q", "merge", "--lenient", "-o", merged, broken)
        self.gpuprof("-q", "merge", "-o", again, merged)
        self.gpuprof("-q", "filter", "--lenient", "--from", "0s", "-o", kept, broken)
        self.gpuprof("-q", "split", "--lenient", "--by", "process", "-o", self.path("parts"), broken)
        parts = [os.path.join(self.path("parts"), name) for name in os.listdir(self.path("parts"))]
        joined = self.path("joined.txt")
        self.gpuprof("-q", "merge", "-o", joined, *parts)
        for path in (merged, again, kept, joined):
            self.assertIn("bad lines 2", self.gpuprof("-q", "report", "-i", path))
        for path in (merged, again, joined):
            run = self.run_command([rig.GPUPROF, "check", "--kernel", ".", "--max", "9000s", path])
            self.assertEqual(run.returncode, 125, run.stdout)
            self.assertIn(b"2 lines of its profile could not be read", run.stdout + run.stderr)

    def test_parts_of_time_consist_of_complete_slices(self):
        for length in ("1500ms", "10ms"):
            run = self.run_command([rig.GPUPROF, "split", "--by", f"time={length}", "-o", self.path("out"), TRAIN])
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn(b"is no multiple of the profile's time slices of 1s", run.stderr)

    def test_an_empty_result_of_a_cut_profile_says_that_it_is_cut(self):
        path = self.path("cut.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("GPUPROF;3.2\nSTRING;1;app\nSTRING;2;k\nWORK;1;0;0;0;0;0;0;0;0;0;kernel;2;0\n")
        for work, command in (("", ["filter", "--kernel", "ka"]), ("", ["split", "--by", "process", "-o", self.path("parts")]),
                              ("GPU;0;1;1;300;300;300;90000;0;0\n", ["filter", "--kernel", "ka"])):
            with open(path, "a", encoding="utf-8") as file:
                file.write(work)
            run = self.run_command([rig.GPUPROF, *command, path])
            self.assertEqual(run.returncode, rig.NOTHING)
            self.assertIn(b"cut.txt is cut short", run.stderr)

    def test_an_empty_result_is_an_error_with_a_reason(self):
        for option, said in ((["--rank", "77"], "no record matches --rank 77"),
                             (["--process", "^nobody$"], "no record matches --process '^nobody$'"),
                             (["--kernel", "gemm", "--path", "^nobody$"], "no record matches --path '^nobody$'"),
                             (["--from", "9000s"], "nothing was recorded from 9000s on"),
                             (["--device", "99"], "no record matches --device 99")):
            run = self.run_command([rig.GPUPROF, "filter", *option, TRAIN])
            self.assertEqual((run.returncode, run.stdout), (4, b""))
            self.assertIn("nothing is left: " + said, run.stderr.decode())
        empty = self.path("empty.txt")
        with open(empty, "w", encoding="utf-8") as file:
            file.write("GPUPROF;3.2\nEND;0;0;0;0;0;0;0\n")
        self.gpuprof("filter", "--to", "1s", empty, expect=(4,))
        self.gpuprof("split", "--by", "process", "-o", self.path("none"), empty, expect=(4,))
        for arguments in (["filter", TRAIN], ["filter", "--rank", "3-", TRAIN], ["filter", "--rank", "5-2", TRAIN],
                          ["filter", "--process", "", TRAIN], ["filter", "--path", "(", TRAIN],
                          ["filter", "--process", "99999999999", TRAIN], ["filter", "--from", "2s", "--to", "1s", TRAIN],
                          ["split", "--by", "x", "-o", self.path("x"), TRAIN], ["split", "--by", "rank", TRAIN],
                          ["split", "--by", "time=0s", "-o", self.path("x"), TRAIN],
                          ["split", "--by", "time=", "-o", self.path("x"), TRAIN]):
            self.gpuprof(*arguments, expect=(2,))

    def test_filter_and_split_read_and_write_streams(self):
        with open(TRAIN, "rb") as file:
            profile = file.read()
        run = subprocess.run([rig.GPUPROF, "-q", "filter", "--to", "1s", "-o", "-"], input=profile, capture_output=True,
                             check=True)
        named = self.gpuprof("-q", "filter", "--to", "1s", TRAIN)
        self.assertEqual(run.stdout.decode(), named)
        run = subprocess.run([rig.GPUPROF, "-q", "split", "--by", "process", "-o", self.path("parts"), "-"],
                             input=profile, capture_output=True, check=True)
        self.assertTrue(os.listdir(self.path("parts")))
        with open("/dev/full", "wb") as full:
            run = subprocess.run([rig.GPUPROF, "filter", "--to", "1s", TRAIN], stdout=full, stderr=subprocess.PIPE,
                                 check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn(b"No space left", run.stderr)
        run = subprocess.run(["bash", "-c", f"'{rig.GPUPROF}' filter --to 1s '{TRAIN}' | true; echo ${{PIPESTATUS[0]}}"],
                             capture_output=True, check=True)
        self.assertNotIn(b"rror", run.stderr)
        run = subprocess.run([rig.GPUPROF, "filter", "--to", "1s", TRAIN], stdin=None, close_fds=True,
                             preexec_fn=lambda: os.close(0), capture_output=True, check=True)
        self.assertEqual(run.stdout.decode(), named)

    def test_thousands_of_subsets_need_one_descriptor(self):
        path = self.path("many.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("GPUPROF;3.2\nMETA;interval_ns;1\nWORK;1;0;0;0;0;0;0;0;0;0;kernel;0;0\n")
            file.writelines(f"GPU;{i};1;1;1;1;1;1;0;0\n" for i in range(4096))
            file.write("END;0;4096;4096;4096;0;0;0\n")
        run = subprocess.run(["sh", "-c", f"ulimit -n 24; exec '{rig.GPUPROF}' split --by time=1ns -o parts many.txt"],
                             cwd=self.folder, capture_output=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(len(os.listdir(self.path("parts"))), 4096)
        self.gpuprof("-q", "merge", self.path("parts"), "-o", self.path("again.txt"))
        self.assertEqual(self.report(self.path("again.txt"))["gpu_ns"], 4096)


if __name__ == "__main__":
    rig.main()
