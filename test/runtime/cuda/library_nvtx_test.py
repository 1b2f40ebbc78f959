#!/usr/bin/env python3
"""Tests NVTX ranges of a mock driver program, which counts its launches by range path."""

import collections
import json
import os
import subprocess
import unittest

import rig
import wire_recorder
from wire_recorder import CONTROL_CALLS, CONTROL_ENABLED, CONTROL_LAUNCH_RECORDS

APP = os.environ["MOCK_NVTX_APP"]
MOCKS = os.environ["MOCK_CUDA_DIR"]
INJECTION = os.environ["CUPTI_INJECTION"]
EXACT_PATHS = 16384
DEEPER = 1  # launches inside more nested ranges than the library keeps


def path_of(source, range_id):
    """Returns the path of nested NVTX ranges as the program prints it: "outer/domain:inner"."""
    parts = []
    while range_id != 0:
        entry = source.ranges[range_id]
        domain = source.names[entry["domain_id"]] + ":" if entry["domain_id"] else ""
        parts.append(domain + source.names[entry["name_id"]])
        range_id = entry["parent"]
    return "/".join(reversed(parts))


def launches_by_path(source):
    return dict(collections.Counter(path_of(source, launch[4]) for launch in source.launch_records))


class Nvtx(unittest.TestCase):
    def run_app(self, *arguments, nvtx=INJECTION, variables=(), **settings):
        """Runs the program; returns (its only source, what the program printed)."""
        settings.setdefault("control", CONTROL_ENABLED | CONTROL_LAUNCH_RECORDS)
        recorder = wire_recorder.Recorder(**settings)
        environment = {**os.environ, **recorder.environment(), "LD_LIBRARY_PATH": MOCKS,
                       "CUDA_INJECTION64_PATH": INJECTION, "NVTX_INJECTION64_PATH": nvtx, **dict(variables)}
        try:
            run = subprocess.run([APP, *arguments], env=environment, capture_output=True, text=True, timeout=60,
                                 check=False)
        finally:
            recorder.close()
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(len(recorder.sources), 1)
        return recorder.sources[0], json.loads(run.stdout)

    def test_each_launch_has_its_range_path(self):
        source, did = self.run_app()
        self.assertEqual(launches_by_path(source), did)
        self.assertEqual((source.state, source.lost), ("finished", {"range_limit": DEEPER}))
        self.assertEqual(source.launches, sum(did.values()))
        paths = [(entry["parent"], entry["domain_id"], entry["name_id"]) for entry in source.ranges.values()]
        self.assertEqual(len(set(paths)), len(paths), "a path was told twice")

    def test_paths_beyond_the_limit_are_folded_into_one(self):
        steps = 20000
        source, did = self.run_app("--many", str(steps))
        found = launches_by_path(source)
        folded = found.pop("step [N]")
        self.assertEqual(source.lost, {"range_limit": DEEPER + folded})  # a number that was replaced is a lost detail
        kept = [path for path in found if path.startswith("step ")]
        self.assertEqual(len(kept) + folded, steps)
        self.assertEqual(sum(found[path] for path in kept), len(kept))
        self.assertTrue(EXACT_PATHS - 200 < len(kept) <= EXACT_PATHS, len(kept))
        self.assertEqual({path: count for path, count in found.items() if not path.startswith("step ")},
                         {path: count for path, count in did.items() if path != "step N"})

    def test_only_launches_in_the_selected_range_are_recorded(self):
        for wanted, inside in (("inner", lambda path: path == "early/inner"),
                               ("early", lambda path: path.startswith("early")),
                               ("op@lib", lambda path: path.startswith("lib:op")),
                               ("whole", lambda path: path.startswith("whole")),
                               ("Größe", lambda path: path.endswith("Größe")),
                               ("op@other", lambda path: False)):
            with self.subTest(wanted=wanted):
                source, did = self.run_app(nvtx_range=wanted)
                expected = {path: count for path, count in did.items() if inside(path)}
                self.assertEqual(launches_by_path(source), expected)
                self.assertEqual(source.launches, sum(expected.values()))
                self.assertEqual(len(source.gpu_ops), sum(expected.values()))
                self.assertEqual(source.counts.get("outside", 0), sum(did.values()) - sum(expected.values()))

    def test_the_selected_range_is_found_beyond_all_limits(self):
        last = "step 20001"
        for arguments, wanted, path in ((("--many", "20002"), last, last), (("--registered", "20002"), last, "lib:" + last),
                                        (("--registered", "40000"), "step 39999@lib", "lib:step 39999")):
            with self.subTest(arguments=arguments):
                source, _ = self.run_app(*arguments, nvtx_range=wanted, variables={"GPUPROF_NVTX_RANGE": wanted})
                self.assertEqual(launches_by_path(source), {path: 1})
                self.assertEqual(source.lost, {})
        source, did = self.run_app(nvtx_range="d79")  # the innermost of more nested ranges than a path has
        deepest = max(did, key=lambda path: path.count("/"))
        self.assertEqual(launches_by_path(source), {deepest: 1})
        self.assertEqual(source.lost, {"range_limit": DEEPER})

    def test_spans_have_the_times_of_their_ranges(self):
        source, _ = self.run_app(control=CONTROL_ENABLED | CONTROL_LAUNCH_RECORDS | CONTROL_CALLS)
        spans = collections.defaultdict(list)
        for span in source.spans:
            self.assertLessEqual(span["start_ns"], span["end_ns"])
            spans[path_of(source, span["range"])].append(span)
        self.assertEqual(len(spans["early"]), 1)  # this range began before the library was connected
        self.assertEqual(len(spans["early/twice"]), 2)
        self.assertEqual(len(spans["whole"]), 1)
        self.assertNotIn("whole/lib:part/on thread", spans)  # this range never ends
        early, = spans["early"]
        for inner in spans["early/twice"] + spans["early/inner"]:
            self.assertTrue(early["start_ns"] <= inner["start_ns"] <= inner["end_ns"] <= early["end_ns"])
            self.assertEqual(inner["tid"], source.pid)
        self.assertEqual(spans["whole"][0]["tid"], 0)
        without, _ = self.run_app()
        self.assertEqual(without.spans, [])

    def test_another_nvtx_tool_is_kept_and_reported(self):
        # The recorder does not overwrite NVTX_INJECTION64_PATH, so NVTX calls another tool. The library reports that.
        recorder = wire_recorder.Recorder()
        environment = {**os.environ, **recorder.environment(), "LD_LIBRARY_PATH": MOCKS,
                       "CUDA_INJECTION64_PATH": INJECTION, "NVTX_INJECTION64_PATH": "/no/such/tool.so"}
        subprocess.run([APP], env=environment, capture_output=True, timeout=60, check=False)
        recorder.close()
        self.assertEqual([source.meta.get("nvtx.taken_by") for source in recorder.sources], ["/no/such/tool.so"])

    def test_a_program_without_a_recorder_runs_undisturbed(self):
        environment = {**os.environ, "LD_LIBRARY_PATH": MOCKS, "NVTX_INJECTION64_PATH": INJECTION}
        run = subprocess.run([APP], env=environment, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))


if __name__ == "__main__":
    rig.main()
