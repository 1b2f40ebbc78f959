#!/usr/bin/env python3
"""Tests Python frames of complete stacks, for each CPython of this machine. Names and lines in gpuprof's stacks must be those
that the interpreter itself reports at the launch.

    GPUPROF_TEST_ALL_PYTHONS=1      records with every interpreter, not only the oldest and the newest
    GPUPROF_TEST_PYTHONS=PATH:...   more interpreters, or wrappers that start one
"""

import glob
import json
import os
import re
import shutil
import subprocess
import unittest

import interpreters
import rig

HERE = os.path.dirname(os.path.abspath(__file__))
MOCKS = os.environ["MOCK_CUDA_DIR"]
HELPER = os.environ["PYTHON_HELPER"]
PROBE = os.environ["PYTHON_PROBE"]
EMBED = os.environ["PYTHON_EMBED"]
NO_PYTHON = "[no Python frames]"


def environment(**more):
    library_path = ":".join(filter(None, (MOCKS, os.environ.get("LD_LIBRARY_PATH"))))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**clean, "LD_LIBRARY_PATH": library_path, "PYTHONDONTWRITEBYTECODE": "1", **more}


def as_text(frame):
    """Returns a frame as a profile stores it, with bytes that are not UTF-8 replaced."""
    name, file, line = frame
    return (*(part.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for part in (name, file)), line)


def stacks_of_kernels(profile):
    """Returns {kernel: [stack, ...]}; a stack is a list of frames, innermost first."""
    of_kernel = {}
    for work in profile.works.values():
        if work.op == "kernel":
            of_kernel.setdefault(work.name, []).append(profile.stacks.get(work.ustack, [])[::-1])
    return of_kernel


class PythonStacks(rig.RuntimeTest):
    maxDiff = 2000

    def run_walks(self, python, **more):
        result = os.path.join(self.folder, "result.json")
        run = self.run_command([python, os.path.join(HERE, "cases.py"), result, HELPER, PROBE], env=environment(**more))
        self.assertEqual(run.returncode, 0, run.stderr.decode("utf-8", "replace"))
        with open(result) as file:
            return json.load(file)

    def record_cases(self, python, *options, **more):
        """Returns (profile, {kernel: frames according to the interpreter}, stderr)."""
        result = os.path.join(self.folder, "result.json")
        profile, stderr = self.record([python, os.path.join(HERE, "cases.py"), result, HELPER], options,
                                      env=environment(**more))
        with open(result) as file:
            cases = json.load(file)["cases"]
        return profile, {name: [as_text(frame) for frame in case["frames"]] for name, case in cases.items()}, stderr

    def assert_walks(self, result):
        cases = result["cases"]
        self.assertGreater(len(cases), 150)
        self.assertGreater(max(len(case["frames"]) for case in cases.values()), 300)
        for name, case in cases.items():
            with self.subTest(case=name):
                self.assertEqual(case["walk"], case["frames"])
                self.assertIn("truncated 0", case["end"])
                self.assert_boundaries(result["version"], case)

    def assert_boundaries(self, version, case):
        boundaries = [boundary for boundary in case["boundaries"] if boundary]
        if not case["frames"]:
            return
        self.assertNotEqual(case["boundaries"][-1], 0, "the outermost run has no end")
        if version < 0x030A0000:
            self.assertEqual(set(case["boundaries"]), {1})
            return
        # Boundaries are stack addresses, which ascend towards the outermost frame. All are above the frame that walks.
        stack = int(case["end"].split()[-1])
        self.assertEqual(boundaries, sorted(set(boundaries)))
        self.assertGreater(boundaries[0], stack)

    def test_walks_equal_the_interpreters_own_stacks(self):
        for python in interpreters.followed():
            with self.subTest(python=python.path):
                self.assert_walks(self.run_walks(python.path))

    def test_sub_interpreters_are_walked(self):
        for python in interpreters.some():
            with self.subTest(python=python.path):
                run = self.run_command([python.path, os.path.join(HERE, "subinterpreter.py"), PROBE], env=environment())
                self.assertEqual(run.returncode, 0, run.stderr.decode("utf-8", "replace"))
                walks = json.loads(run.stdout)
                if "skipped" in walks:
                    self.skipTest(f"{python.path}: {walks['skipped']}")
                self.assertEqual([truncated for _, truncated in walks.values()], [False] * 5)
                names = {case: [name.split(".")[-1] for name in walk] for case, (walk, _) in walks.items()}
                within, main = ["innermost", "within", "<module>"], ["calling", "main", "<module>"]
                # Before 3.12, if the thread does not hold the GIL, the walk finds only the first thread state of the thread.
                self.assertEqual(names, {
                    "before": ["outside", "main", "<module>"],
                    "within_released": within if python.version >= (3, 12) else main,
                    "within_held": within,
                    "beside": ["outside", *main],
                    "after": ["outside", "main", "<module>"],
                })

    def test_walks_stay_right_while_code_objects_are_freed(self):
        for python in interpreters.some():
            with self.subTest(python=python.path):
                run = self.run_command([python.path, os.path.join(HERE, "stress.py"), PROBE, "0.5"], env=environment())
                self.assertEqual(run.returncode, 0, run.stderr.decode("utf-8", "replace"))
                records, wrong, *_ = run.stdout.decode().split()
                self.assertEqual(int(wrong), 0, run.stdout)
                self.assertGreater(int(records), 50)

    def test_a_privately_loaded_interpreter_is_walked(self):
        libraries = glob.glob(os.path.expanduser("~/.pyenv/versions/*/lib/libpython3.*.so.1.0"))
        libraries += glob.glob("/usr/lib/*/libpython3.*.so.1.0")
        libraries = [path for path in libraries if re.search(r"python3\.(9|1[0-4])\.so", path)]
        if not libraries:
            self.skipTest("no libpython3.x.so.1.0")
        for library in sorted(libraries):
            with self.subTest(library=library):
                home = os.path.dirname(os.path.dirname(library))
                home = home if glob.glob(os.path.join(home, "bin/python3")) else "/usr"
                run = self.run_command([EMBED, library, PROBE], env=environment(PYTHONHOME=home))
                self.assertEqual(run.returncode, 0, run.stderr.decode("utf-8", "replace"))
                self.assert_embedded(run.stdout.decode())

    def assert_embedded(self, output):
        walks = []
        for part in output.split("== ")[1:]:
            name, *lines = part.splitlines()
            words = [line.split() for line in lines[:-1]]
            frames = [(bytes.fromhex(word[0]).decode().split(".")[-1], int(word[2])) for word in words]
            walks.append((name, frames, "truncated 1" in lines[-1]))
        stack = [("<lambda>", 6), ("outer", 6), ("<module>", 7)]
        running = [("released", [("inner", 2), *stack], False), ("held", [("inner", 3), *stack], False),
                   ("beside", [], False)]
        self.assertEqual(walks, [("without", [], False), ("loaded", [], False), *running, ("between", [], False),
                                 *running, ("after", [], False)])

    @staticmethod
    def told(profile, key):
        """Returns the values that the processes have for a META key."""
        return [value for name, values in profile.meta().items() if name.endswith("." + key) for value in values]

    def assert_recorded(self, profile, cases, stderr):
        stacks = stacks_of_kernels(profile)
        self.assertEqual(set(stacks), set(cases), stderr)
        for kernel, expected in cases.items():
            with self.subTest(kernel=kernel):
                for stack in stacks[kernel]:
                    of_python = [frame for frame in stack if frame.kind == "python"]
                    self.assertEqual([(frame.name, frame.file, frame.line) for frame in of_python], expected)
                    self.assertNotIn("truncated", [frame.kind for frame in stack])
                    if expected:
                        self.assert_interleaved(stack)
                    else:
                        self.assertIn(NO_PYTHON, [frame.name for frame in stack])
        self.assertEqual(profile.end()["lost"], 0, stderr)
        self.assertEqual(profile.end()["with_stack"], profile.end()["gpu_records"], stderr)

    def assert_interleaved(self, stack):
        """Checks that Python frames are inside an evaluation loop, and that C functions follow their callers."""
        kinds = ["python" if frame.kind == "python" else "eval" if frame.interpreter else "other" for frame in stack]
        for index in range(1, len(kinds)):
            if kinds[index] != "python" and kinds[index - 1] == "python":
                self.assertEqual(kinds[index], "eval", [frame.name for frame in stack[index - 1:index + 2]])
        plain = [frame for frame in stack if not frame.interpreter]
        for index, frame in enumerate(plain):
            if frame.name == "helper_call_back":
                before = next(one for one in plain[index::-1] if one.kind == "python")
                after = next(one for one in plain[index:] if one.kind == "python")
                self.assertEqual((before.name.split(".")[-1], after.name), ("<lambda>", "by_helper"))

    def test_the_in_process_engine_records_python_stacks(self):
        for python in interpreters.some():
            with self.subTest(python=python.path):
                profile, cases, stderr = self.record_cases(python.path, "--stacks=inproc")
                self.assert_recorded(profile, cases, stderr)
                version = ".".join(map(str, python.version))
                self.assertEqual(self.told(profile, "python.version"), [version], stderr)

    @rig.requires("ebpf")
    def test_the_bpf_engine_records_python_stacks(self):
        for python in interpreters.some():
            with self.subTest(python=python.path):
                profile, cases, stderr = self.record_cases(python.path, "--stacks=bpf")
                for case in ("long_code.released", "long_code.held"):
                    # Since 3.11, this function's line table does not fit into a BPF event, so only its first line is known.
                    long_function = cases[case].index(("run", "<long>", 3002))
                    cases[case][long_function] = ("run", "<long>", 1 if python.version >= (3, 11) else 3002)
                self.assert_recorded(profile, cases, stderr)

    @rig.requires("program:strip")
    def test_a_stripped_libpython_is_walked(self):
        for python in interpreters.followed():
            library = self.stripped_library(python.path)
            if library is None:
                continue
            result = self.run_walks(python.path, LD_LIBRARY_PATH=os.path.dirname(library))
            self.assertIn(library, result["libraries"])
            self.assert_walks(result)
            return
        self.skipTest("no interpreter in a library of its own")

    def stripped_library(self, python):
        """Returns a stripped copy of the interpreter's libpython, or None if it has no libpython."""
        run = self.run_command([python, "-c", "print(open('/proc/self/maps').read())"])
        found = re.search(r"(/\S*/libpython3\.\d+\.so\.1\.0)", run.stdout.decode())
        if found is None:
            return None
        copy = os.path.join(os.path.realpath(self.folder), os.path.basename(found.group(1)))
        shutil.copyfile(found.group(1), copy)
        subprocess.run(["strip", "--strip-all", copy], check=True)
        return copy

    def test_unsupported_interpreters_are_refused_with_a_message(self):
        others = interpreters.refused()
        if not others:
            self.skipTest("no other interpreter here")
        for python in others:
            with self.subTest(python=python.path):
                script = ("import ctypes; c = ctypes.CDLL('libcuda.so.1'); c.cuInit(0); x = ctypes.c_void_p(); "
                          "c.cuDevicePrimaryCtxRetain(ctypes.byref(x), 0); c.cuCtxSetCurrent(x); "
                          "m = ctypes.c_void_p(); c.cuModuleLoadData(ctypes.byref(m), b'k 1000'); "
                          "f = ctypes.c_void_p(); c.cuModuleGetFunction(ctypes.byref(f), m, b'k'); "
                          "c.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, None, None, None); c.cuCtxSynchronize()")
                profile, stderr = self.record([python.path, "-c", script], env=environment())
                self.assertEqual([frame for stack in stacks_of_kernels(profile)["k"] for frame in stack
                                  if frame.kind == "python" or frame.name == NO_PYTHON], [])
                self.assertEqual(len(self.told(profile, "python.refused")), 1, stderr)


if __name__ == "__main__":
    unittest.TestCase.longMessage = True
    rig.main()
