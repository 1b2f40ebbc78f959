#!/usr/bin/env python3
"""The CUPTI injection library in a program of the mock driver, which knows to the nanosecond what it did."""

import ctypes
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import wire_recorder
from wire_recorder import CONTROL_ENABLED, CONTROL_FLUSH, CONTROL_LAUNCH_RECORDS

APP = os.environ["MOCK_CUDA_APP"]
MOCKS = os.environ["MOCK_CUDA_DIR"]
INJECTION = os.environ["CUPTI_INJECTION"]
NEXT_INJECTION = os.environ["MOCK_NEXT_INJECTION"]
GPU_OP_MORE = 1


class InjectionTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-test.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def environment(self, **extra):
        unset = ("CUDA_INJECTION64_PATH", "MOCK_CUPTI_FAULTS", "GPUPROF_CUPTI_PATH", "GPUPROF_CUPTI_DOMAINS")
        clean = {name: value for name, value in os.environ.items() if name not in unset}
        return {**clean, "LD_LIBRARY_PATH": MOCKS, "CUDA_INJECTION64_PATH": INJECTION, **extra}

    def start(self, *arguments, control=CONTROL_ENABLED | CONTROL_LAUNCH_RECORDS, **extra):
        """A recorder and the started app; what is left of both is ended with the test."""
        recorder = wire_recorder.Recorder(control)
        self.addCleanup(lambda: recorder.stopping.is_set() or recorder.close())
        process = subprocess.Popen([APP, *arguments], env=self.environment(**recorder.environment(), **extra),
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return recorder, process

    def finish(self, recorder, process, expect=0):
        """(the one source, what the app said it did) after the end of the app."""
        stdout, stderr = process.communicate(timeout=60)
        recorder.close()
        self.assertEqual((process.returncode, stderr), (expect, ""))
        self.assertEqual(len(recorder.sources), 1)
        return recorder.sources[0], json.loads(stdout)

    def run_app(self, *arguments, faults="", **extra):
        return self.finish(*self.start(*arguments, MOCK_CUPTI_FAULTS=faults, **extra))

    def assert_exact(self, source, did):
        self.assertEqual((source.state, source.reason), ("finished", ""))
        self.assertEqual(source.totals(), did["ops"])
        self.assertEqual(source.launches, did["launches"])
        self.assert_joined(source)
        self.assertEqual(source.lost, {"unfinished": did["unfinished"]} if did["unfinished"] else {})

    def assert_joined(self, source):
        """Each launch was told once, and each piece of work belongs to a launch."""
        launches = [launch[0] for launch in source.launch_records]
        self.assertEqual(len(set(launches)), len(launches))
        self.assertLessEqual({op["correlation"] for op in source.gpu_ops}, set(launches))


class Exactness(InjectionTest):
    def test_runtime_calls(self):
        source, did = self.run_app("--launches", "100")
        self.assert_exact(source, did)
        self.assertEqual(source.meta["cupti.timestamps"], "callback")
        self.assertEqual(source.meta["cupti.path"], os.path.join(MOCKS, "libcupti.so.13"))
        self.assertEqual([source.names[name] for name in source.devices.values()], ["Mock GPU 0", "Mock GPU 1"])

    def test_driver_calls(self):
        self.assert_exact(*self.run_app("--launches", "100", "--driver-api"))

    def test_threads_on_two_devices(self):
        source, did = self.run_app("--launches", "200", "--threads", "4")
        self.assert_exact(source, did)
        self.assertEqual({op["device"] for op in source.gpu_ops}, {0, 1})
        self.assertEqual(len({(op["context"], op["stream"]) for op in source.gpu_ops}), 4)
        self.assertEqual(len({launch[1] for launch in source.launch_records}), 4)

    def test_more_records_than_buffers_hold(self):
        self.assert_exact(*self.run_app("--launches", "6000", "--kernels-only"))

    def test_graphs(self):
        source, did = self.run_app("--launches", "1", "--graph", "20")
        self.assert_exact(source, did)
        nodes = [op for op in source.gpu_ops if op["flags"] & GPU_OP_MORE]
        self.assertEqual(len(nodes), 40)
        self.assertEqual(len({op["correlation"] for op in nodes}), 20)

    def test_one_domain(self):
        self.assert_exact(*self.run_app("--launches", "50", GPUPROF_CUPTI_DOMAINS="driver"))
        self.assert_exact(*self.run_app("--launches", "50", "--kernels-only", GPUPROF_CUPTI_DOMAINS="runtime"))

    def test_times_are_of_the_monotonic_clock(self):
        for faults, how in (("", "callback"), ("refuse_timestamp_callback", "offset")):
            begin = time.monotonic_ns()
            source, did = self.run_app("--launches", "20", faults=faults)
            end = time.monotonic_ns()
            self.assertEqual(source.meta["cupti.timestamps"], how)
            self.assert_exact(source, did)
            for op in source.gpu_ops:
                self.assertGreater(op["start"], begin)
                self.assertLess(op["end"], end)


class Guest(InjectionTest):
    """What the library must not do to the program."""

    def test_output_and_status_are_the_programs_own(self):
        plain = subprocess.run([APP, "--hard-exit"], env=self.environment(CUDA_INJECTION64_PATH=""),
                               capture_output=True, text=True, check=False)
        source, did = self.finish(*self.start("--hard-exit"), expect=7)
        self.assertEqual(plain.returncode, 7)
        self.assertEqual({**json.loads(plain.stdout), "pid": 0}, {**did, "pid": 0})
        self.assertEqual(source.state, "active")  # _exit: nothing of ours runs

    def test_without_a_recorder(self):
        for extra in ({}, {"GPUPROF_SOCKET": "gpuprof-test-nobody-listens", "GPUPROF_TOKEN": "0" * 32}):
            run = subprocess.run([APP], env=self.environment(**extra), capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_fork(self):
        self.assert_exact(*self.run_app("--launches", "50", "--fork"))

    def test_work_still_running_at_exit(self):
        begin = time.monotonic()
        self.assert_exact(*self.run_app("--launches", "20", "--unfinished"))
        self.assertLess(time.monotonic() - begin, 5)

    def test_an_injection_library_that_was_there_is_called(self):
        mark = os.path.join(self.folder, "mark")
        self.assert_exact(*self.run_app(GPUPROF_NEXT_CUDA_INJECTION=NEXT_INJECTION, MOCK_NEXT_MARK=mark))
        with open(mark, encoding="ascii") as file:
            self.assertEqual(file.read(), "called\n")

    def test_an_injection_library_that_uses_cupti_keeps_it(self):
        mark = os.path.join(self.folder, "mark")
        source, _ = self.run_app(GPUPROF_NEXT_CUDA_INJECTION=NEXT_INJECTION, MOCK_NEXT_MARK=mark,
                                 MOCK_NEXT_SUBSCRIBES="1")
        with open(mark, encoding="ascii") as file:
            self.assertEqual(file.read(), "called, subscribed\n")
        self.assertEqual(source.state, "disabled")
        self.assertIn("another profiler uses CUPTI", source.reason)


class InTime(InjectionTest):
    """Records come while the program lives."""

    def wait_for(self, condition, seconds=10):
        deadline = time.monotonic() + seconds
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertTrue(condition(), "waited in vain")

    def test_killed_after_a_second(self):
        recorder, process = self.start("--launches", "100", "--sleep-ms", "60000")
        did = json.loads(process.stdout.readline())
        self.wait_for(lambda: recorder.sources and len(recorder.sources[0].gpu_ops) >= did["total_ops"], 1.5)
        process.send_signal(signal.SIGKILL)
        process.wait()
        recorder.close()
        self.assertEqual(recorder.sources[0].totals(), did["ops"])
        self.assertEqual(recorder.sources[0].state, "active")

    def test_flush_when_the_recorder_asks(self):
        recorder, process = self.start("--launches", "100", "--sleep-ms", "60000", GPUPROF_CUPTI_FLUSH_MS="1000")
        did = json.loads(process.stdout.readline())
        source = recorder.sources[0]
        source.control |= CONTROL_FLUSH
        self.wait_for(lambda: source.flushed, 1)
        process.kill()
        process.wait()
        recorder.close()
        self.assertEqual(source.totals(), did["ops"])

    def test_a_recorder_that_is_gone_costs_nothing(self):
        recorder, process = self.start("--launches", "100000", "--kernels-only", "--gap-us", "5000")
        self.wait_for(lambda: recorder.sources and recorder.sources[0].launches > 30)
        source = recorder.sources[0]
        recorder.silent = True
        time.sleep(1.5)
        launches, ops = source.launches, len(source.gpu_ops)
        time.sleep(1.5)
        self.assertEqual((source.launches, len(source.gpu_ops)), (launches, ops))
        recorder.silent = False  # it was only stopped
        self.wait_for(lambda: source.launches > launches + 30 and len(source.gpu_ops) > ops + 30)
        self.assertGreater(int(source.meta["cupti.not_recorded_ms"]), 1000)
        process.kill()
        process.wait()
        recorder.close()

    def test_nothing_is_recorded_while_paused(self):
        source, _ = self.finish(*self.start("--launches", "50", control=CONTROL_LAUNCH_RECORDS))
        self.assertEqual((source.launches, source.gpu_ops, source.lost), (0, [], {}))
        self.assertEqual(source.state, "finished")


class Faults(InjectionTest):
    ARGUMENTS = ("--launches", "400", "--kernels-only")

    def assert_lost_every_nth(self, name, fault, n):
        source, did = self.run_app(*self.ARGUMENTS, faults=f"{fault}={n}")
        lost = did["total_ops"] // n
        self.assertEqual(source.lost, {name: lost})
        self.assertEqual(len(source.gpu_ops), did["total_ops"] - lost)
        self.assertEqual(source.launches, did["launches"])
        # The durations of those that are there are right.
        for op in source.gpu_ops:
            kernel = did["ops"][source.names[op["name_id"]]]
            self.assertEqual(op["end"] - op["start"], kernel["ns"] // kernel["count"])

    def test_records_without_times_are_counted(self):
        self.assert_lost_every_nth("invalid_timestamp", "zero_timestamps", 7)

    def test_records_that_end_before_they_start_are_counted(self):
        self.assert_lost_every_nth("invalid_timestamp", "reversed_timestamps", 5)

    def test_records_without_times_are_counted_with_an_offset(self):
        source, did = self.run_app(*self.ARGUMENTS, faults="refuse_timestamp_callback,zero_timestamps=4")
        self.assertEqual(source.lost, {"invalid_timestamp": did["total_ops"] // 4})

    def test_records_that_cupti_dropped_are_counted(self):
        self.assert_lost_every_nth("vendor_dropped", "drop_records", 10)

    def test_records_are_counted_when_no_buffer_comes_back(self):
        source, did = self.run_app(*self.ARGUMENTS, faults="drop_records=1")
        self.assertEqual((source.gpu_ops, source.lost), ([], {"vendor_dropped": did["total_ops"]}))

    def test_buffers_from_several_threads(self):
        self.assert_exact(*self.run_app("--launches", "2500", "--threads", "4", faults="threads"))

    def test_another_subscriber(self):
        source, _ = self.run_app(faults="subscriber_conflict")
        self.assertEqual(source.state, "disabled")
        self.assertIn("another profiler uses CUPTI", source.reason)
        self.assertEqual((source.launches, source.gpu_ops), (0, []))

    def test_out_of_memory(self):
        source, _ = self.run_app(faults="out_of_memory")
        self.assertEqual(source.state, "disabled")
        self.assertIn("error 8", source.reason)

    def test_a_flush_that_hangs_does_not_hang_the_program(self):
        begin = time.monotonic()
        source, did = self.run_app("--launches", "100", faults="hang_flush")
        self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual(source.launches, did["launches"])
        self.assertEqual(source.state, "finished")
        self.assertIn("timed out", source.meta["cupti.exit_flush"])


def loader_finds_cupti():
    try:
        ctypes.CDLL("libcupti.so.13")
        return True
    except OSError:
        return False


class FindingCupti(InjectionTest):
    def setUp(self):
        super().setUp()
        os.symlink(os.path.join(MOCKS, "libcuda.so.1"), os.path.join(self.folder, "libcuda.so.1"))

    def test_by_variable(self):
        for path in (MOCKS, os.path.join(MOCKS, "libcupti.so.13"), f"/nonexistent:{MOCKS}"):
            source, did = self.run_app(LD_LIBRARY_PATH=self.folder, GPUPROF_CUPTI_PATH=path)
            self.assert_exact(source, did)
            self.assertEqual(source.meta["cupti.path"], os.path.join(MOCKS, "libcupti.so.13"))

    def test_in_a_toolkit(self):
        if loader_finds_cupti():
            self.skipTest("the loader finds this machine's own libcupti.so.13 before any toolkit's")
        lib = os.path.join(self.folder, "toolkit/extras/CUPTI/lib64")
        os.makedirs(lib)
        os.symlink(os.path.join(MOCKS, "libcupti.so.13"), os.path.join(lib, "libcupti.so.13"))
        source, did = self.run_app(LD_LIBRARY_PATH=self.folder, CUDA_HOME=os.path.join(self.folder, "toolkit"))
        self.assert_exact(source, did)
        self.assertEqual(source.meta["cupti.path"], os.path.join(lib, "libcupti.so.13"))

    def test_next_to_the_libraries_of_a_python_package(self):
        packages = os.path.join(self.folder, "lib/python3/site-packages")
        lib = os.path.join(packages, "nvidia/cu13/lib")
        os.makedirs(lib)
        os.symlink(os.path.join(MOCKS, "libcupti.so.13"), os.path.join(lib, "libcupti.so.13"))
        os.makedirs(os.path.join(packages, "torch/lib"))
        module = os.path.join(packages, "torch/lib/libanything.so")
        with open(NEXT_INJECTION, "rb") as original, open(module, "wb") as copy:
            copy.write(original.read())
        source, did = self.run_app("--load", module, LD_LIBRARY_PATH=self.folder)
        self.assert_exact(source, did)
        self.assertEqual(source.meta["cupti.path"], os.path.join(lib, "libcupti.so.13"))

    def test_a_library_that_is_not_cupti(self):
        source, _ = self.run_app(LD_LIBRARY_PATH=self.folder, GPUPROF_CUPTI_PATH=NEXT_INJECTION)
        self.assertEqual(source.state, "disabled")
        self.assertIn("cuptiGetVersion", source.reason)


if __name__ == "__main__":
    unittest.main(verbosity=2)
