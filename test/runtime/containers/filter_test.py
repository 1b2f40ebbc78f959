#!/usr/bin/env python3
"""Tests recordings below a system call filter like that of Docker and Kubernetes: nothing is missing, or record says it."""

import collections
import json
import os
import signal
import subprocess
import sys

import rig

APP = os.environ["MOCK_CUDA_APP"]
MOCKS = os.environ["MOCK_CUDA_DIR"]
FILTER = os.environ["CONTAINER_FILTER"]
OLD_FILTER = (FILTER, "--old")  # forbids tracing, too
CUDA = {**os.environ, "LD_LIBRARY_PATH": MOCKS}
PYTHON_LAUNCHES = 50
PYTHON = f"""
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
cuda.cuModuleLoadData(ctypes.byref(module), b"python_kernel 1000")
cuda.cuModuleGetFunction(ctypes.byref(function), module, b"python_kernel")
def launch_from_python():
    cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
for _ in range({PYTHON_LAUNCHES}):
    launch_from_python()
cuda.cuCtxSynchronize()
"""


class BelowTheFilter(rig.RuntimeTest):
    def counts(self, prefix, target, env, inner=(), options=()):
        """Records; returns ({(kernel, Python and named native functions): count}, stderr)."""
        command = [*prefix, rig.GPUPROF, "record", *options, "-o", self.profile_path, "--", *inner, *target]
        run = self.run_command(command, env=env)
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertEqual(run.returncode, 0, stderr)
        profile = rig.Profile(self.profile_path)
        end = profile.end()
        self.assertEqual((end["lost"], end["with_stack"]), (0, end["gpu_records"]), stderr)
        self.assertEqual(profile.losses(), {}, stderr)
        counts = collections.Counter()
        for work, numbers in profile.measured("GPU"):
            counts[(work.name, tuple(profile.frames(work.ustack)))] += numbers[0]
        rig.remove_perf_maps(profile)
        os.unlink(self.profile_path)
        return counts, stderr

    def assert_same(self, target, env=None, kernel=None, frame=None):
        plain, _ = self.counts((), target, env)
        self.assertTrue(any(kernel in name and any(frame in one for one in stack) for name, stack in plain), plain)
        for prefix, inner in (((), (FILTER,)), ((FILTER,), ()), (OLD_FILTER, ())):
            with self.subTest(around="gpuprof" if prefix else "the program", old=prefix == OLD_FILTER):
                below, stderr = self.counts(prefix, target, env, inner)
                self.assertEqual(below, plain, stderr)
                self.assertNotIn("warning", stderr)

    def test_a_cuda_program(self):
        self.assert_same([APP, "--launches", "100", "--kernels-only"], CUDA, "assemble", "three_sites")

    @rig.requires("ebpf")
    def test_probes_of_the_bpf_engine(self):
        """Linux may make a system call of its own for a probe (uprobe), which the filter must not forbid."""
        target = [APP, "--launches", "100", "--kernels-only"]
        plain, _ = self.counts((), target, CUDA)
        below, _ = self.counts((), target, CUDA, (FILTER,), ("--stacks=bpf",))
        self.assertEqual(sum(below.values()), sum(plain.values()))

    def test_a_cuda_program_in_python(self):
        self.assert_same([sys.executable, "-c", PYTHON], CUDA, "python_kernel", "launch_from_python")

    @rig.requires("opencl")
    def test_an_opencl_program(self):
        self.assert_same([rig.EXAMPLE, "--launches", "50"], None, "light", "postprocess")

    @rig.requires("opencl", "pyopencl")
    def test_an_opencl_program_in_python(self):
        self.assert_same([rig.pyopencl_python(), rig.PYTHON_EXAMPLE, "--launches", "50"], None, "heavy", "solve")


class Attaching(rig.RuntimeTest):
    def start(self, *prefix):
        process = subprocess.Popen([*prefix, APP, "--launches", "1000000", "--gap-us", "300", "--kernels-only"], env=CUDA,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (process.kill(), process.wait()))
        self.assertTrue(rig.wait_for(lambda: rig.napping(process.pid)))
        return process

    def attach(self, *prefix):
        process = self.start(FILTER)
        recorder = subprocess.Popen([*prefix, rig.GPUPROF, "record", "-p", str(process.pid), "-o", self.profile_path],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        rig.wait_for(lambda: recorder.poll() is not None or (rig.gpu_records(self.profile_path) or 0) > 500)
        recorder.send_signal(signal.SIGINT)
        _, stderr = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 0, stderr)
        self.assertGreater(rig.Profile(self.profile_path).end()["gpu_ns"], 0, stderr)
        self.assertNotIn("warning", stderr)

    @rig.requires("root")
    def test_a_process_below_the_filter(self):
        self.attach()

    @rig.requires("root")
    def test_both_below_the_filter(self):
        self.attach(FILTER)

    @rig.requires("root")
    def test_gpuprof_below_an_old_filter_says_what_is_forbidden(self):
        process = self.start()
        run = self.run_command([*OLD_FILTER, rig.GPUPROF, "record", "-p", str(process.pid), "-o", self.profile_path])
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertNotEqual(run.returncode, 0, stderr)
        self.assertRegex(stderr, r"error: a system call filter \(seccomp\) forbids gpuprof to trace process \d+; and its launches "
                                 r"cannot be counted: .*\n  hint: run gpuprof outside of the container[^;]*\n$")
        self.assertIsNone(process.poll())

    @rig.requires("root")
    def test_doctor_says_what_is_forbidden(self):
        sections = json.loads(self.run_command([*OLD_FILTER, rig.GPUPROF, "doctor", "--json"]).stdout)
        fact = next(fact for fact in sections["attaching"] if fact["name"] == "ptrace")
        self.assertEqual(fact["state"], "missing")
        self.assertIn("seccomp", fact["detail"])


if __name__ == "__main__":
    rig.main()
