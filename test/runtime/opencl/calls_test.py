#!/usr/bin/env python3
"""Tests OpenCL host operations: calls with their flows, waits and allocations of a program that prints what it does."""

import collections
import json
import os
import re

import rig

PROGRAM = os.path.abspath(os.environ.get("GPUPROF_OPENCL_CALLS", "build/test/unit/opencl_calls"))
HOST_OPS = ("sync", "alloc", "free")


def site_of(frames, sites):
    """Returns the innermost of the functions `sites` among the frames, or None."""
    names = (next((site for site in sites if re.match(rf"(.*::)?{site}\b", frame)), None) for frame in reversed(frames))
    return next(filter(None, names), None)


class OpenClCalls(rig.RuntimeTest):
    def record_calls(self, *options):
        """Returns the profile, and the {key: number} that it must hold."""
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, *options, "--", PROGRAM])
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertEqual(run.returncode, 0, stderr)
        lines = re.findall(r"^expect (.+)=(-?\d+)$", run.stdout.decode(), re.MULTILINE)
        profile = rig.Profile(self.profile_path)
        self.assertEqual(profile.end()["lost"], 0, profile.losses())
        self.assert_conserved(profile)
        return profile, {key: int(number) for key, number in lines}

    def by_site(self, weight, expected, prefix):
        """Compares {site: sum} of `flame --weight` with the expected keys that begin with `prefix`."""
        sites = [key[len(prefix):] for key in expected if key.startswith(prefix)]
        sums = collections.Counter()
        for frames, value in self.folded("--weight", weight):
            sums[site_of(frames, sites)] += value
        return sites, sums

    @rig.requires("opencl", f"program:{PROGRAM}")
    def test_waits_and_memory_have_stacks_with_each_engine(self):
        for engine in rig.stack_engines():
            with self.subTest(engine=engine):
                profile, expected = self.record_calls("--stacks", engine)
                self.check_waits(profile, expected)
                self.check_memory(profile, expected)
                self.assertEqual(profile.of("CALL"), [], "calls without --timeline")

    def check_waits(self, profile, expected):
        count, ns = collections.Counter(), collections.Counter()
        sites = [key[len("wait."):] for key in expected if key.startswith("wait.")]
        for work, numbers in profile.measured("HOST"):
            if work.op == "sync":
                count[f"sync.{work.name}"] += numbers[0]
                ns[work.name] += numbers[1]
                count["wait." + str(site_of(profile.frames(work.ustack), sites))] += numbers[0]
        self.assertEqual(dict(count), {key: number for key, number in expected.items()
                                       if key.startswith(("sync.", "wait."))})
        folded = collections.Counter()
        for frames, value in self.folded("--weight", "wait"):
            folded[re.fullmatch(r"\[sync (\w+)\]", frames[-1]).group(1)] += value
        self.assertEqual(folded, ns)
        report = json.loads(self.gpuprof("report", "--json", "-i", self.profile_path))
        self.assertIn("[sync clWaitForEvents]", json.dumps(report))
        # A blocking read or map is a wait (checked above), and also GPU work: a copy.
        reads, maps = expected["call.clEnqueueReadBuffer"], expected["call.clEnqueueMapBuffer"]
        copies, copied = collections.Counter(), collections.Counter()
        for work, numbers in profile.measured("GPU"):
            copies[work.op] += numbers[0]
            copied[work.op] += numbers[-1]
        self.assertEqual(copies["copy_dtoh"], reads + maps)
        # One of the two maps is for reading, the other for writing only.
        self.assertEqual(maps, 2)
        each = copied["copy_dtoh"] // (reads + 1)
        self.assertEqual(copied["copy_dtoh"], each * (reads + 1))
        self.assertEqual(copied["copy_htod"], each * (expected["call.clEnqueueWriteBuffer"] + 1))

    def check_memory(self, profile, expected):
        found = collections.Counter()
        for work, numbers in profile.measured("HOST"):
            if work.op in ("alloc", "free"):
                found[f"{work.op}s"] += numbers[0]
                found[f"{work.op}_bytes"] += numbers[4]
                self.assertTrue(profile.frames(work.ustack), f"a stack of each {work.op}")
                self.assertNotEqual(work.device, "0", "the context has one device")
        self.assertEqual(dict(found), {key: expected[key] for key in ("allocs", "alloc_bytes", "frees", "free_bytes")})
        sites, sums = self.by_site("alloc", expected, "alloc.")
        self.assertEqual(dict(sums), {site: expected[f"alloc.{site}"] for site in sites})

    @rig.requires("opencl", f"program:{PROGRAM}")
    def test_launches_and_failed_calls_are_counted(self):
        profile, expected = self.record_calls()
        self.assertEqual(sum(value for _, value in self.folded("--weight", "count")), expected["calls"])
        coverage = profile.coverage()
        self.assertEqual(coverage["launches"], expected["calls"] + expected["failed"])
        self.assertEqual((coverage["matched"], coverage["failed"]), (expected["calls"], expected["failed"]))
        failed = {frames[-1]: value for frames, value in self.folded("--weight", "failed")}
        read = "clEnqueueReadBuffer: CL_INVALID_VALUE (-30)"
        no_queue = "clEnqueueReadBuffer: CL_INVALID_COMMAND_QUEUE (-36)"
        self.assertEqual((failed[f"[{read}]"], failed[f"[{no_queue}]"]), (1, 1))
        self.assertIn("[clFinish: CL_INVALID_COMMAND_QUEUE (-36)]", failed)
        self.assertIn(read, self.gpuprof("export", "--format", "json", "-i", self.profile_path))

    @rig.requires("opencl", f"program:{PROGRAM}")
    def test_command_buffers_are_work_with_a_stack_and_a_note(self):
        profile, expected = self.record_calls()
        if "command_buffers" not in expected:
            self.skipTest("this OpenCL has no command buffers")
        fills, copies = expected["buffer_fills"], expected["buffer_copies"]
        name = f"[command buffer: [fill] x{fills}, [copy] x{copies}, spin x3]_[G]"
        for weight, each in ("count", 1), ("bytes", expected["buffer_bytes"]):
            found = collections.Counter()
            for frames, value in self.folded("--weight", weight):
                if frames[-1].startswith("[command buffer"):
                    found[frames[-1], site_of(frames, ["run_command_buffers"])] += value
            self.assertEqual(found, {(name, "run_command_buffers"): each * expected["command_buffers"]})
        notes = [text for key, text in profile.meta().items() if key.endswith("note.opencl.command_buffers")]
        self.assertEqual(len(notes), 1)
        self.assertIn("command buffer", self.gpuprof("report", "-i", self.profile_path))

    @rig.requires("opencl", f"program:{PROGRAM}")
    def test_timeline_has_calls_and_a_flow_to_each_piece_of_work(self):
        profile, expected = self.record_calls("--timeline")
        text, calls = profile.strings(), profile.of("CALL")
        names = collections.Counter(text[row[3]] for row in calls)
        names["clEnqueueReadBuffer"] -= expected["failed"]  # the refused calls are reads
        self.assertEqual({f"call.{name}": number for name, number in names.items()},
                         {key: number for key, number in expected.items() if key.startswith("call.")})
        out = os.path.join(self.folder, "trace.json")
        self.gpuprof("export", "--format", "chrome", "-i", self.profile_path, "-o", out)
        with open(out, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        work = [event for event in events if event.get("cat") == "gpu"]
        begins, ends = ([event for event in events if event["ph"] == phase] for phase in "sf")
        self.assertEqual(len(work), expected["calls"])
        self.assertEqual((len(begins), len(ends)), (len(work), len(work)))
        # Each flow begins at the call that has the work's correlation id.
        started = {event["args"]["correlation"]: event for event in events if event.get("cat") == "call"}
        places = {(begin["pid"], begin["tid"], begin["ts"], end["pid"], end["tid"], end["ts"])
                  for begin, end in zip(sorted(begins, key=lambda event: event["id"]),
                                        sorted(ends, key=lambda event: event["id"]))}
        for event in work:
            call = started[event["args"]["correlation"]]
            self.assertIn((call["pid"], call["tid"], call["ts"], event["pid"], event["tid"], event["ts"]), places)
            self.assertIn("sf", call)
            self.assertLess(call["ts"], event["ts"] + event["dur"])
        waits = [event for event in events if event.get("cat") == "host" and event["ph"] == "X"
                 and event["name"].startswith("[sync ")]
        self.assertEqual(len(waits), expected["waits"])
        builds = [event for event in events if event["name"] == "[call clBuildProgram]"]
        self.assertEqual(len(builds), 1)
        self.assertEqual(builds[0]["cat"], "host")

    def build_calls(self, *options):
        """Records the build of a program that is in no cache. Returns ({function: HOST line}, the build's own ns)."""
        environment = {**os.environ, "POCL_CACHE_DIR": os.path.join(self.folder, f"cache{len(os.listdir(self.folder))}")}
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, *options, "--", PROGRAM, "--build", "800"],
                               env=environment)
        self.assertEqual(run.returncode, 0, run.stderr)
        profile = rig.Profile(self.profile_path)
        calls = {}
        for work, (count, ns, least, most, _) in profile.measured("HOST"):
            if work.op == "call":
                known = calls.setdefault(work.name, [0, 0, least, 0])
                calls[work.name] = [known[0] + count, known[1] + ns, min(known[2], least), max(known[3], most)]
        return calls, int(re.search(rb"^expect build_ns=(\d+)$", run.stdout, re.MULTILINE).group(1))

    @rig.requires("opencl", f"program:{PROGRAM}")
    def test_a_build_takes_what_the_programs_own_clock_says(self):
        calls, own_ns = self.build_calls()
        self.assertGreater(own_ns, 300_000_000)
        self.assertEqual(calls["clBuildProgram"][0], 2)  # the program also builds a small one
        by_path = self.folded("--weight", "calls")
        built = sum(ns for frames, ns in by_path if "build(" in frames[-2] and frames[-1] == "[call clBuildProgram]")
        self.assertAlmostEqual(built, own_ns, delta=0.03 * own_ns)
        self.assertEqual(sum(ns for frames, ns in by_path if frames[-1] == "[call clBuildProgram]"),
                         calls["clBuildProgram"][1])
        self.assertIn("clCreateBuffer", calls)  # allocations are recorded however short they are
        self.assertTrue(all(numbers[2] >= 100_000 for name, numbers in calls.items() if name == "clGetDeviceIDs"))
        idle = collections.Counter()
        for frames, ns in self.folded("--weight", "idle"):
            idle[frames[-1], "build" in "".join(frames[:-1])] += ns
        self.assertAlmostEqual(idle["[idle in clBuildProgram]", True], built, delta=0.03 * own_ns)
        report = json.loads(self.gpuprof("report", "--json", "-i", self.profile_path))
        line = next(line for line in report["calls"] if line["name"] == "clBuildProgram")
        self.assertEqual((line["count"], line["max_ns"]), (2, calls["clBuildProgram"][3]))
        self.assertIn("Top host calls", self.gpuprof("report", "-i", self.profile_path))

    @rig.requires("opencl", f"program:{PROGRAM}")
    def test_cpu_samples_do_not_hide_the_build(self):
        _, own_ns = self.build_calls("--cpu")
        idle = [ns for frames, ns in self.folded("--weight", "idle")
                if frames[-1] == "[idle in clBuildProgram]" and "build(" in "".join(frames)]
        self.assertAlmostEqual(sum(idle), own_ns, delta=0.03 * own_ns)
        report = self.gpuprof("report", "-i", self.profile_path)
        self.assertRegex(report, r"in clBuildProgram")

    @rig.requires("opencl", f"program:{PROGRAM}")
    def test_a_paused_recording_has_no_work(self):
        profile, _ = self.record_calls("--start-paused")
        self.assertEqual(profile.of("HOST") + profile.of("GPU"), [])


if __name__ == "__main__":
    rig.main()
