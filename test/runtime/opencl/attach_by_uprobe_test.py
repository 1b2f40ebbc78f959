#!/usr/bin/env python3
"""Tests record -p with uprobes: launches of a running process are counted per stack, without an injected library."""

import os
import signal
import subprocess
import tempfile

import rig

# Waits for a line on stdin between loading OpenCL and launching, so that the recorder can attach meanwhile.
WAITING = """
import runpy, sys
import pyopencl
pyopencl.get_platforms()
print("ready", flush=True)
sys.stdin.readline()
sys.argv = [sys.argv[1]]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


# Its child is another program that loads OpenCL.
WITH_CHILD = """
import subprocess, sys
import pyopencl
pyopencl.get_platforms()
print("ready", flush=True)
sys.stdin.readline()
sys.exit(subprocess.run([sys.argv[1], "--launches", "3000"], stdout=subprocess.DEVNULL).returncode)
"""


class Attach(rig.RuntimeTest):
    def attach(self, pid, profile):
        recorder = subprocess.Popen([rig.GPUPROF, "record", "--timeline", "-p", str(pid), "-o", profile],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # Waits for the profile's final name: the profile gets it once the probes are set.
        self.assertTrue(rig.wait_for(lambda: os.path.exists(profile) or recorder.poll() is not None))
        return recorder

    @rig.requires("opencl", "pyopencl", "ebpf")
    def test_launches_are_counted_exactly(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "attached.txt")
            target = subprocess.Popen([rig.pyopencl_python(), "-c", WAITING, rig.PYTHON_EXAMPLE],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.assertEqual(target.stdout.readline(), "ready\n")
            recorder = self.attach(target.pid, path)
            printed, _ = target.communicate("go\n", timeout=120)
            _, stderr = recorder.communicate(timeout=60)
            self.assertEqual((target.returncode, recorder.returncode), (0, 0), stderr)
            expected = sum(int(line.split()[-1]) for line in printed.splitlines() if line.startswith("expected"))
            folded = subprocess.run([rig.GPUPROF, "flame", "-i", path], capture_output=True, text=True,
                                    check=True).stdout
            chrome = subprocess.run([rig.GPUPROF, "export", "--format", "chrome", "-i", path], capture_output=True,
                                    text=True, check=False)
        self.assertIn("hint: record the program from its start: gpuprof record --timeline -- COMMAND", chrome.stderr)
        launches = sum(value for frames, value in rig.parse_folded(folded) if "clEnqueueNDRangeKernel" in frames[-1])
        self.assertGreater(expected, 0)
        self.assertEqual(launches, expected, stderr)
        self.assertIn("no GPU times", stderr)
        self.assertIn("launches are only counted, without GPU times: the process uses opencl", stderr)
        self.assertIn("warning: no effect without gpuprof's library in the process: --timeline\n", stderr)

    @rig.requires("opencl", "pyopencl", "ebpf")
    def test_a_child_that_is_not_recorded_is_named(self):
        with tempfile.TemporaryDirectory() as scratch:
            target = subprocess.Popen([rig.pyopencl_python(), "-c", WITH_CHILD, rig.EXAMPLE], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
            self.assertEqual(target.stdout.readline(), "ready\n")
            recorder = self.attach(target.pid, os.path.join(scratch, "attached.txt"))
            target.communicate("go\n", timeout=120)
            _, stderr = recorder.communicate(timeout=60)
        self.assertEqual((target.returncode, recorder.returncode), (0, 0), stderr)
        self.assertRegex(stderr, r"warning: process \d+ \(example_opencl\) is a child of the recorded process and has loaded "
                                 r"libOpenCL\.so\.1\S*, but opencl records nothing of it\n")

    @rig.requires("ebpf")
    def test_a_process_without_opencl_is_refused(self):
        sleeper = subprocess.Popen(["sleep", "60"])
        try:
            done = subprocess.run([rig.GPUPROF, "record", "-p", str(sleeper.pid), "-o", "/dev/null"],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
        finally:
            sleeper.send_signal(signal.SIGKILL)
            sleeper.wait()
        self.assertEqual(done.returncode, 1)
        self.assertIn("no launch function", done.stderr)
        self.assertIn("hint:", done.stderr)

    @rig.requires("ebpf")
    def test_a_process_that_does_not_exist_is_an_error(self):
        done = subprocess.run([rig.GPUPROF, "record", "-p", "4194303", "-o", "/dev/null"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("4194303", done.stderr)


if __name__ == "__main__":
    rig.main()
