#!/usr/bin/env python3
"""Tests record -p with uprobes: launches of a running process are counted per stack, without an injected library."""

import contextlib
import json
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


# Moves data in many ways. The driver of these tests has images.
MOVING = """
import sys
import numpy
import pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context)
host = numpy.zeros(4096, numpy.uint8)
one, other = (cl.Buffer(context, cl.mem_flags.READ_WRITE, host.nbytes) for _ in range(2))
image = cl.Image(context, cl.mem_flags.READ_WRITE, cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNSIGNED_INT8), (8, 8))
print("ready", flush=True)
sys.stdin.readline()
rect = {"buffer_origin": (0, 0), "host_origin": (0, 0), "region": (4, 4), "buffer_pitches": (64,), "host_pitches": (64,)}
for _ in range(3):
    cl.enqueue_copy(queue, host, one, **rect)
    cl.enqueue_copy(queue, one, host, **rect)
    cl.enqueue_copy(queue, other, one, src_origin=(0, 0), dst_origin=(0, 0), region=(4, 4), src_pitches=(64,), dst_pitches=(64,))
    cl.enqueue_fill_buffer(queue, one, numpy.uint8(1), 0, 64)
    cl.enqueue_copy(queue, host, image, origin=(0, 0), region=(8, 8))
    cl.enqueue_copy(queue, image, host, origin=(0, 0), region=(8, 8))
    cl.enqueue_copy(queue, one, image, offset=0, origin=(0, 0), region=(8, 8))
    cl.enqueue_copy(queue, image, one, offset=0, origin=(0, 0), region=(8, 8))
    cl.enqueue_fill_image(queue, image, numpy.zeros(4, numpy.uint32), (0, 0), (8, 8))
    mapped, _ = cl.enqueue_map_buffer(queue, one, cl.map_flags.READ, 0, (64,), numpy.uint8)
    mapped.base.release(queue)
queue.finish()
"""
MOVED = ("ReadBufferRect", "WriteBufferRect", "CopyBufferRect", "FillBuffer", "ReadImage", "WriteImage", "CopyImageToBuffer",
         "CopyBufferToImage", "FillImage", "MapBuffer", "UnmapMemObject")
# Its children are another program that loads OpenCL, and a fork. Each launches when a line arrives, so that gpuprof can
# find it before.
WITH_CHILDREN = """
import os, subprocess, sys
import pyopencl
pyopencl.get_platforms()
print("ready", flush=True)
sys.stdin.readline()
subprocess.run([sys.executable, "-c", sys.argv[2], sys.argv[1]], check=True)
if os.fork() == 0:
    exec(sys.argv[2])
    sys.stdout.flush()
    os._exit(0)
sys.exit(os.wait()[1])
"""
# Its child belongs to another user.
WITH_OTHER_USER = """
import subprocess, sys
import pyopencl
pyopencl.get_platforms()
print("ready", flush=True)
sys.stdin.readline()
sys.exit(subprocess.run([sys.executable, "-c", sys.argv[1]], user=65534, group=65534, extra_groups=[], cwd="/").returncode)
"""
WITH_CHILD_OF_ONES_OWN = """
import subprocess, sys
import pyopencl
pyopencl.get_platforms()
print("ready", flush=True)
sys.stdin.readline()
sys.exit(subprocess.run([sys.executable, "-c", sys.argv[1]]).returncode)
"""
OTHER_USER = """
import os, sys
import pyopencl
pyopencl.get_platforms()
print(os.getpid(), flush=True)
sys.stdin.readline()
"""
LATER_OTHER_USER = """
import os, sys
pid = os.fork()
if pid == 0:
    sys.stdin.readline()
    os.setresuid(65534, 65534, 65534)
    import pyopencl
    pyopencl.get_platforms()
    sys.stdin.readline()
    os._exit(0)
print(pid, flush=True)
os.waitpid(pid, 0)
"""
LAUNCHING = """
import os, runpy, sys
print(os.getpid(), flush=True)
sys.stdin.readline()
sys.argv = [sys.argv[1]]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Attach(rig.RuntimeTest):
    def attach(self, pid, profile, *options, stderr=subprocess.PIPE):
        recorder = subprocess.Popen([rig.GPUPROF, "record", "--timeline", *options, "-p", str(pid), "-o", profile],
                                    stdin=subprocess.DEVNULL, stderr=stderr, text=True)
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
    def test_all_functions_that_move_data_are_counted(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "attached.txt")
            target = subprocess.Popen([rig.pyopencl_python(), "-c", MOVING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.assertEqual(target.stdout.readline(), "ready\n")
            recorder = self.attach(target.pid, path)
            target.communicate("go\n", timeout=120)
            _, stderr = recorder.communicate(timeout=60)
            self.assertEqual((target.returncode, recorder.returncode), (0, 0), stderr)
            export, report = (json.loads(self.gpuprof(*command, path)) for command in (
                ("-q", "export", "--format", "json"), ("-q", "report", "--json")))
        found = {}
        for row in export["rows"]:
            name = next(function for function in MOVED if f"clEnqueue{function} " in row["name"] + " ")
            found[name] = found.get(name, 0) + row["launches"]
        self.assertEqual(found, {function: 3 for function in MOVED}, stderr)
        self.assertEqual((report["launches"], report["coverage_percent"]), (3 * len(MOVED), 100))

    @rig.requires("opencl", "pyopencl", "ebpf")
    def test_launches_of_children_are_counted(self):
        with tempfile.TemporaryDirectory() as scratch, open(os.path.join(scratch, "stderr"), "w+", encoding="utf-8") as log:
            path = os.path.join(scratch, "attached.txt")
            target = subprocess.Popen(
                [rig.pyopencl_python(), "-u", "-c", WITH_CHILDREN, rig.PYTHON_EXAMPLE, LAUNCHING], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, bufsize=0)
            self.assertEqual(target.stdout.readline(), b"ready\n")
            recorder = self.attach(target.pid, path, "-v", stderr=log)
            target.stdin.write(b"go\n")
            expected = {}
            for _ in range(2):  # the child that executes a program, and the forked one
                pid = int(target.stdout.readline())
                found = f"counting the launches of child process {pid}\n"
                self.assertTrue(rig.wait_for(lambda found=found: found in text_of(log.name)), text_of(log.name))
                # The same program, but no child of the recorded process.
                subprocess.run([rig.EXAMPLE, "--launches", "10"], stdout=subprocess.DEVNULL, check=True)
                target.stdin.write(b"go\n")
                lines = [target.stdout.readline().split() for _ in range(3)]
                expected[pid] = sum(int(line[-1]) for line in lines if line[0] == b"expected")
            target.communicate(timeout=120)
            recorder.wait(timeout=60)
            rows = json.loads(subprocess.run([rig.GPUPROF, "export", "--format", "json", "-i", path],
                                             capture_output=True, check=True).stdout)["rows"]
            stderr = text_of(log.name)
        for pid, launches in expected.items():
            self.assertGreater(launches, 0)
            self.assertEqual(sum(row["launches"] for row in rows if row["pid"] == pid and
                                 "NDRange" in row["name"]), launches, stderr)
        self.assertEqual({row["pid"] for row in rows}, set(expected), "another process was counted")
        self.assertNotIn("records nothing of it", stderr)

    @contextlib.contextmanager
    def with_child(self, program, child):
        """Attaches to a program, which then starts `child`. Yields the program, the recorder, the child's pid, and a function
        that returns what gpuprof has said."""
        if os.geteuid() != 0:
            self.skipTest("needs root")
        with tempfile.TemporaryDirectory() as scratch, open(os.path.join(scratch, "stderr"), "w+", encoding="utf-8") as log:
            target = subprocess.Popen([rig.pyopencl_python(), "-u", "-c", program, child],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
            self.assertEqual(target.stdout.readline(), b"ready\n")
            recorder = self.attach(target.pid, os.path.join(scratch, "attached.txt"), "-v", stderr=log)
            target.stdin.write(b"go\n")
            yield target, recorder, int(target.stdout.readline()), lambda: text_of(log.name)

    @rig.requires("opencl", "pyopencl", "ebpf")
    def test_a_child_of_another_user_is_not_counted(self):
        with self.with_child(WITH_OTHER_USER, OTHER_USER) as (target, recorder, pid, said):
            refused = f"not counting child process {pid}\n"
            self.assertTrue(rig.wait_for(lambda: refused in said()), said())
            target.communicate(b"go\n", timeout=120)
            recorder.wait(timeout=60)
            self.assertIn(f"process {pid} (", said())
            self.assertIn("but opencl records nothing of it", said())

    @rig.requires("opencl", "pyopencl", "ebpf")
    def test_a_child_that_changes_its_user_is_not_counted(self):
        with self.with_child(WITH_CHILD_OF_ONES_OWN, LATER_OTHER_USER) as (target, recorder, pid, said):
            for text in (f"counting the launches of child process {pid}\n", f"not counting child process {pid}\n"):
                self.assertTrue(rig.wait_for(lambda: text in said()), said())
                target.stdin.write(b"go\n")
            target.communicate(timeout=120)
            recorder.wait(timeout=60)

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
