#!/usr/bin/env python3
"""Tests programs that subscribe to CUPTI themselves, as profilers inside a program do, on the mock driver."""

import json
import os
import sys

import rig

MOCKS = os.environ["MOCK_CUDA_DIR"]
LAUNCHES = 40
CONFLICT = 39
SCRIPT = f"""
import ctypes, json, sys
first = sys.argv[1] == "first"
cuda = ctypes.CDLL("libcuda.so.1")
tool = ctypes.CDLL("{MOCKS}/libmock_tool.so")
tool.tool_kernels.restype = ctypes.c_uint64
result = tool.tool_subscribe() if first else None
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
cuda.cuModuleLoadData(ctypes.byref(module), b"kernel 1000")
cuda.cuModuleGetFunction(ctypes.byref(function), module, b"kernel")
result = result if first else tool.tool_subscribe()
for _ in range({LAUNCHES}):
    cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
cuda.cuCtxSynchronize()
print(json.dumps([result, tool.tool_kernels() if result == 0 else 0]))
"""


class Subscribers(rig.RuntimeTest):
    def record_program(self, order, version, options=(), **variables):
        """Returns (the result of the program's subscription, the kernels that it has seen, the profile, stderr)."""
        environment = {**os.environ, "LD_LIBRARY_PATH": MOCKS, "MOCK_CUPTI_FAULTS": f"old_version={version}", **variables}
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, *options, "--", sys.executable, "-c", SCRIPT,
                                order], env=environment)
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertEqual(run.returncode, 0, stderr)
        return (*json.loads(run.stdout), rig.Profile(self.profile_path), stderr)

    def assert_complete(self, profile, stderr):
        end = profile.end()
        self.assertEqual([end[name] for name in ("launches", "gpu_records", "with_stack", "lost")], [LAUNCHES] * 3 + [0], stderr)
        self.assertEqual(profile.losses(), {}, stderr)

    def test_both_get_their_records(self):
        for order, variables in (("first", {}), ("second", {"GPUPROF_CUPTI_SHARED": "1"})):
            with self.subTest(order=order):
                result, kernels, profile, stderr = self.record_program(order, 130401, **variables)
                self.assertEqual((result, kernels), (0, LAUNCHES), stderr)
                self.assert_complete(profile, stderr)
                note = "CUPTI has several subscribers: no queue times (--latency) and no page migrations are recorded"
                self.assertEqual(stderr.count(note), 1, stderr)
                self.assertIn(f"note: {note}", " ".join(self.gpuprof("report", "-i", self.profile_path).split()))
                os.unlink(self.profile_path)

    def test_queue_times_need_the_only_subscription(self):
        result, kernels, profile, stderr = self.record_program("first", 130401, ["--latency"])
        self.assertEqual((result, kernels), (0, LAUNCHES), stderr)
        self.assert_complete(profile, stderr)
        latency = [value for key, values in profile.meta().items() if key.endswith("cupti.latency") for value in values]
        self.assertEqual(len(latency), 1)
        self.assertNotEqual(latency, ["on"])

    def test_by_default_gpuprof_subscribes_alone(self):
        result, _, profile, stderr = self.record_program("second", 130401)
        self.assertEqual(result, CONFLICT, stderr)
        self.assert_complete(profile, stderr)

    def test_without_support_the_first_one_has_cupti_and_is_named(self):
        result, _, profile, stderr = self.record_program("second", 130001, GPUPROF_CUPTI_SHARED="1")
        self.assertEqual(result, CONFLICT, stderr)
        self.assert_complete(profile, stderr)
        result, _, profile, stderr = self.record_program("first", 130001)
        self.assertEqual((result, profile.end()["gpu_records"]), (0, 0), stderr)
        self.assertEqual(stderr.count("another profiler uses CUPTI in this process (a tool of the test), and only one can"), 1,
                         stderr)


if __name__ == "__main__":
    rig.main()
