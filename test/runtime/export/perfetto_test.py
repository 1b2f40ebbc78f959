#!/usr/bin/env python3
"""Tests `export --format perfetto` with an independent decoder: the trace has every event of the profile, with its times,
stack, annotations and the arrow from its call, within limits of file size and memory."""

import collections
import gc
import os
import sys

import rig
from perfetto_file import MONOTONIC, REALTIME, Trace

sys.path.insert(0, os.path.join(rig.SOURCE, "test/golden/options"))
import check_chrome  # pylint: disable=wrong-import-position

gc.disable()  # collecting would only cost time: traces have millions of objects and no cycles

GOLDEN = os.path.join(rig.SOURCE, "test/golden")


class PerfettoTest(rig.RuntimeTest):
    def export(self, profile, *options):
        """Returns the trace and its size in bytes."""
        path = os.path.join(self.folder, "out.pftrace")
        self.gpuprof("-q", "export", "--format", "perfetto", "-o", path, *options, profile)
        with open(path, "rb") as file:
            return Trace(file.read()), os.path.getsize(path)

    def write(self, text):
        path = os.path.join(self.folder, "profile.txt")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def compare(self, trace, path):
        """Checks that every EVENT, CALL and SPAN is one slice. Slices of a stream must not overlap. On other tracks,
        one slice may contain another."""
        profile = rig.Profile(path)
        works, strings = profile.works, profile.strings()
        shown = collections.Counter((one.start, one.end, one.category, one.facts.get("correlation", 0))
                                    for one in trace.slices)
        host = {"sync", "alloc", "free", "fault_gpu", "fault_cpu", "migrate_htod", "migrate_dtoh", "call"}
        expected = collections.Counter(
            (int(row[2]), int(row[3]), "host" if works[row[0]].op in host else "gpu", int(row[1]))
            for row in profile.of("EVENT"))
        expected.update((int(row[5]), int(row[6]), "call", int(row[4])) for row in profile.of("CALL"))
        expected.update((int(row[3]), int(row[4]), "nvtx", 0) for row in profile.of("SPAN"))
        self.assertEqual(shown, expected)
        names = {strings.get(row[3], "") for row in profile.of("CALL")}
        self.assertLessEqual({one.name for one in trace.slices if one.category == "call"}, names)
        self.check_nesting(trace)
        self.check_weights(trace)
        return profile

    def check_weights(self, trace):
        """Checks that only stacks of GPU work have a weight (ns): viewers add up the weights of all stacks."""
        for one in trace.slices:
            weighs = one.category == "gpu" and one.stack
            self.assertEqual(one.weight, one.end - one.start if weighs else None, one)

    def check_nesting(self, trace):
        by_track = collections.defaultdict(list)
        for one in trace.slices:
            by_track[one.track].append((one.start, -one.end, one.category))
        for track, slices in by_track.items():
            open_ends = []
            for start, negative_end, category in sorted(slices):
                while open_ends and open_ends[-1] <= start:
                    open_ends.pop()
                self.assertFalse(category == "gpu" and open_ends, f"slices overlap on {trace.name_of(track)}")
                self.assertFalse(open_ends and open_ends[-1] < -negative_end, f"crossed on {trace.name_of(track)}")
                if -negative_end > start:
                    open_ends.append(-negative_end)

    def test_a_timeline_with_all_features_is_complete(self):
        path = os.path.join(GOLDEN, "options/train.txt")
        trace, _ = self.export(path)
        profile = self.compare(trace, path)
        self.assertEqual(trace.clocks, {MONOTONIC: 1_000_000_000, REALTIME: 1_700_000_000_000_000_000})
        self.assertEqual((trace.primary_clock, trace.default_clock), (MONOTONIC, MONOTONIC))
        names = {trace.name_of(uuid) for uuid in trace.tracks}
        self.assertLessEqual({"python3, rank 3", "python3, rank 3/main", "python3, rank 0",
                              "device 0 NVIDIA H200 GPU-aaaa/stream 7", "python3, rank 3/NVTX of thread 4242"}, names)
        # The trace has the same frame names as the call's stack in the profile.
        call = next(one for one in trace.slices if one.category == "call" and one.facts["correlation"] == 1)
        row = next(row for row in profile.of("CALL") if row[4] == "1")
        self.assertEqual([frame.name for frame in call.stack], profile.frames(row[2]))
        self.assertEqual((call.stack[1].file, call.stack[1].line), ("train.py", 17))
        for samples in trace.counters.values():
            self.assertEqual(samples[-1][1], 0, "the queue does not run empty")
        self.assertEqual(len(trace.counters), 2)

    def test_arrows_go_from_calls_to_their_work(self):
        path = os.path.join(GOLDEN, "options/train.txt")
        trace, _ = self.export(path)
        flows = collections.defaultdict(lambda: collections.defaultdict(list))
        for one in trace.slices:
            self.assertEqual(bool(one.flows), bool(one.facts.get("correlation")) and one.category != "host")
            for flow in one.flows:
                flows[flow][one.category].append(one)
        joined = [flow for flow in flows.values() if flow["gpu"] and flow["call"]]
        self.assertEqual(len(joined), 5)
        for flow in joined:
            self.assertEqual(len(flow["call"]), 1)
            for work in flow["gpu"]:
                self.assertEqual(work.facts["correlation"], flow["call"][0].facts["correlation"])
                self.assertEqual(work.stack[:len(flow["call"][0].stack)], flow["call"][0].stack)

    def test_modules_have_their_build_ids(self):
        text = ("GPUPROF;3.1\nSTRING;1;app\nSTRING;2;f\nSTRING;3;/opt/liba.so\nSTRING;4;00ff12\nSTRING;5;k\n"
                "FRAME;1;native;2;0;0;3;4;0x1234\nUSTACK;1;1\nPROCESS;1;7;1;5;1;0;0;0\n"
                "WORK;1;1;7;0;1;0;0;0;0;0;kernel;5;0\nEVENT;1;1;10;20;0;0;0\nEND;9;1;0;0;0;0;0\n")
        trace, _ = self.export(self.write(text))
        frame = trace.slices[0].stack[0]
        self.assertEqual((frame.module, frame.build_id, frame.address), ("/opt/liba.so", "00ff12", 0x1234))

    def test_random_timelines_are_complete(self):
        for seed in range(5):
            text, _, _ = check_chrome.random_profile(seed)
            path = self.write(text)
            trace, _ = self.export(path)
            self.compare(trace, path)

    def test_adjacent_slices_are_complete_in_any_order(self):
        """Slices that begin or end at the same time do not end each other, whatever their order in the file."""
        works = "".join(f"WORK;{i};1;{7 if op != 'kernel' else 0};0;0;0;0;0;1;{i % 2};{op};0;0\n"
                        for i, op in ((1, "kernel"), (2, "kernel"), (3, "sync"), (4, "alloc")))
        lines = [f"EVENT;{work};0;{start};{start + length};0;0;0"
                 for start in (100, 95, 90, 90, 85, 100) for length in (5, 10, 0, 15) for work in (1, 2, 3, 4)]
        text = ("GPUPROF;3.0\nSTRING;1;app\nPROCESS;1;7;1;5;1;0;0;0\nDEVICE;1;0;0;0;0\n" + works +
                "\n".join(lines) + "\nEND;9;0;0;0;0;0;0\n")
        path = self.write(text)
        trace, _ = self.export(path)
        shown = collections.Counter((one.start, one.end, one.category) for one in trace.slices)
        expected = collections.Counter((int(line.split(";")[3]), int(line.split(";")[4]),
                                        "gpu" if line.split(";")[1] in "12" else "host") for line in lines)
        self.assertEqual(shown, expected)

    def test_file_size_and_memory_are_bounded(self):
        events = 400_000
        text, _ = check_chrome.long_names(events)
        path = self.write(text)
        out = os.path.join(self.folder, "out.pftrace")
        # Forks from a small process, because the peak memory of a child includes that of the process that forked it.
        code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        run = self.run_command(["bash", "-c", 'exec "$0" "$@"', sys.executable, "-c", code, rig.GPUPROF, "-q", "export",
                                "--format", "perfetto", "-o", out, path])
        self.assertEqual(run.returncode, 0, run.stderr)
        kibibytes = int(run.stdout)
        size = os.path.getsize(out)
        print(f"{size / events:.1f} bytes an event, {kibibytes >> 10} MiB")
        self.assertLessEqual(size, 40 * events)
        self.assertLess(kibibytes, 200 * 1024)
        with open(out, "rb") as file:
            trace = Trace(file.read())
        self.assertEqual(len(trace.slices), events)
        self.assertGreater(trace.lots, 10)
        self.assertEqual({len(one.stack) for one in trace.slices}, {40})

    def test_failures_are_reported(self):
        run = self.run_command([rig.GPUPROF, "export", "--format", "perfetto", "-o", "out",
                                os.path.join(GOLDEN, "train.txt")])
        self.assertEqual(run.returncode, rig.NOTHING)
        self.assertIn(b"record --timeline", run.stderr)
        self.assertEqual(os.listdir(self.folder), [])
        profile = os.path.join(GOLDEN, "options/train.txt")
        run = self.run_command(["bash", "-c", f"{rig.GPUPROF} export --format perfetto {profile} > /dev/full"])
        self.assertEqual(run.returncode, 1)
        self.assertIn(b"No space left", run.stderr)

    def test_losses_are_reported(self):
        profile = os.path.join(GOLDEN, "all_records.txt")
        with open(profile, encoding="utf-8") as file:
            path = self.write(file.read().replace("\nEND;", "\nNEWKIND;1\nMETA;filter;--kernel sweep\nEND;"))
        for form in ("chrome", "perfetto"):
            run = self.run_command([rig.GPUPROF, "export", "--format", form, "-o", "/dev/null", path])
            self.assertEqual(run.returncode, 0, run.stderr)
            for words in (b"a subset of another: only what matches --kernel sweep", b"lost: late_name 1",
                          b"records of unknown kinds skipped: 1"):
                self.assertIn(words, run.stderr)

    def test_a_large_chrome_trace_names_this_format(self):
        path = self.write("GPUPROF;3.0\nSTRING;1;app\nSTRING;2;" + "f" * 80 + "\nPROCESS;1;7;1;5;1;0;0;0\n" +
                          "CALL;1;7;0;2;123456;50000000001;50000000017\n" * 3_200_000 + "END;9;0;0;0;0;0;0\n")
        run = self.run_command([rig.GPUPROF, "export", "--format", "chrome", "-o", "/dev/null", path])
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(b"--format perfetto", run.stderr)
        text, _ = check_chrome.long_names(1000)
        run = self.run_command([rig.GPUPROF, "export", "--format", "chrome", "-o", "/dev/null", self.write(text)])
        self.assertNotIn(b"--format perfetto", run.stderr)


if __name__ == "__main__":
    rig.main()
