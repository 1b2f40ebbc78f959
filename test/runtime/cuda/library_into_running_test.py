#!/usr/bin/env python3
"""Injects the CUPTI library into running programs and removes it again: the program's own state must not change."""

import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import rig
import wire_recorder
from rig import napping, threads, wait_for
from wire_recorder import CONTROL_RETRACT

DRIVER = os.environ["INJECT_DRIVER"]
CUDA_APP = os.environ["MOCK_CUDA_APP"]
WAITING_APP = os.environ["MOCK_WAITING_APP"]
STATIC_APP = os.environ["MOCK_STATIC_APP"]
MOCKS = os.environ["MOCK_CUDA_DIR"]
INJECTION = os.environ["CUPTI_INJECTION"]
FACTS_OF_STATUS = ("SigBlk", "SigIgn", "SigCgt")

# A program like mock_cuda_app with --sleep-ms, but it ends on request.
IDLE_APP = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
results = [cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
           cuda.cuModuleLoadData(ctypes.byref(module), b"k 1000"),
           cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k")]
results += [cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None) for _ in range(50)]
assert results + [cuda.cuCtxSynchronize()] == [0] * 56
print("ready", flush=True)
sys.stdin.readline()
"""


def mapped(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return "libgpuprof_cupti.so" in maps.read()


def in_status(pid, pattern):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return re.search(pattern, status.read()) is not None


def signals_of(pid):
    """Returns the blocked, ignored and caught signals, without the two that glibc claims with the first pthread_create."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        values = [line.split() for line in status if line.startswith(FACTS_OF_STATUS)]
    return [(name, int(mask, 16) & ~(3 << 31)) for name, mask in values]


def waits(pid):
    """Returns whether Linux reports the program as sleeping, no matter in which system call."""
    return in_status(pid, r"State:\tS")


class AttachTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-test.")
        self.addCleanup(folder.cleanup)
        self.end = os.path.join(folder.name, "end")  # this file ends the programs of start_cuda

    def start(self, *command, ready=True, **options):
        process = subprocess.Popen(command, env={**os.environ, "LD_LIBRARY_PATH": MOCKS}, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(lambda: (process.poll() is None and process.kill(), process.wait(), process.stdin.close(),
                                 process.stdout.close(), process.stderr.close()))
        if ready:
            self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def start_cuda(self, *arguments):
        """Starts a program that launches on all its threads until end_cuda()."""
        process = self.start(CUDA_APP, *arguments, "--launches", "1000000000", "--until", self.end, "--kernels-only",
                             ready=False)
        count = int(arguments[arguments.index("--threads") + 1]) if "--threads" in arguments else 1
        self.assertTrue(wait_for(lambda: len(threads(process.pid)) >= count and napping(process.pid)))
        return process

    def start_idle(self):
        return self.start(sys.executable, "-c", IDLE_APP)

    def start_waiting(self, how):
        process = self.start(WAITING_APP, how)
        if how == "signals":
            self.assertTrue(wait_for(lambda: ("SigCgt:", 0) not in signals_of(process.pid)))
        elif how != "spin":
            self.assertTrue(wait_for(lambda: waits(process.pid)))
        return process

    def recorder(self, **settings):
        recorder = wire_recorder.Recorder(**settings)
        self.addCleanup(lambda: recorder.stopping.is_set() or recorder.close())
        return recorder

    def attach(self, pid, recorder, expect=0):
        run = subprocess.run([DRIVER, str(pid), INJECTION, recorder.name, recorder.token], capture_output=True,
                             text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, expect, run.stdout + run.stderr)
        return json.loads(run.stdout)

    def attach_and_connect(self, pid, recorder):
        before = threads(pid)
        result = self.attach(pid, recorder)
        new = threads(pid) - before
        # The library's thread starts first. CUPTI makes other threads with the same name.
        self.ours = min(new) if new else 0
        self.assertTrue(result["path_holds_library"])
        self.assertTrue(wait_for(lambda: recorder.sources), "the library did not connect")
        self.assertEqual(recorder.sources[0].pid, pid)
        return result

    def end_cuda(self, process):
        """Ends the program and returns what it printed."""
        with open(self.end, "w", encoding="ascii"):
            pass
        return self.assert_ends_well(process)

    def assert_ends_well(self, process, given=None):
        stdout, stderr = process.communicate(given, timeout=60)
        self.assertEqual((process.returncode, stderr), (0, ""))
        return stdout

    def retract(self, recorder, pid):
        source, = recorder.sources
        source.control |= CONTROL_RETRACT
        self.assertTrue(wait_for(lambda: source.state == "finished"), source.state)
        self.assertTrue(wait_for(lambda: self.ours not in threads(pid)))
        recorder.close()
        return source


class Waits(AttachTest):
    """Tests that the thread that loads the injected library then continues its wait as if undisturbed."""

    def test_attaching_does_not_cut_waits_short(self):
        started = []  # all programs wait for seconds, so they run concurrently
        for how in ("sleep", "poll", "epoll", "futex", "spin", "signals"):
            with self.subTest(how=how):
                process = self.start_waiting(how)
                before = signals_of(process.pid)
                recorder = self.recorder()
                self.attach_and_connect(process.pid, recorder)
                self.assertEqual(signals_of(process.pid), before)
                started.append((how, process, recorder))
        for how, process, recorder in started:
            with self.subTest(how=how):
                self.assert_ends_well(process)
                recorder.close()

    def test_a_read_during_the_injection_gets_its_data(self):
        process = self.start_waiting("read")
        self.attach_and_connect(process.pid, self.recorder())
        self.assert_ends_well(process, "go\n")

    def test_the_signal_mask_is_unchanged(self):
        process = self.start_waiting("sigsuspend")
        self.attach_and_connect(process.pid, self.recorder())
        process.send_signal(signal.SIGUSR1)
        self.assert_ends_well(process)

    def test_a_program_survives_fifty_injections(self):
        """Injects the library up to fifty times into a running program, each time at another code location."""
        process = self.start(WAITING_APP, "spin")
        other = subprocess.Popen([WAITING_APP, "signals"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        done = 0
        while process.poll() is None and other.poll() is None and done < 50:
            for pid in (process.pid, other.pid):
                subprocess.run([DRIVER, str(pid), INJECTION, "nobody-listens", "0" * 32], capture_output=True,
                               check=False)
            done += 1
        self.assertGreater(done, 0)
        self.assert_ends_well(process)
        _, stderr = other.communicate(timeout=30)
        self.assertEqual((other.returncode, stderr), (0, b""))


class Recording(AttachTest):
    def test_a_busy_program_can_be_recorded_again(self):
        process = self.start_cuda("--gap-us", "200")
        recorded = 0
        for was_there in (False, True):
            recorder = self.recorder()
            result = self.attach_and_connect(process.pid, recorder)
            self.assertEqual(result["was_there"], was_there)
            self.assertTrue(wait_for(lambda: len(recorder.sources[0].gpu_ops) > 1000))
            source = self.retract(recorder, process.pid)
            self.assertEqual(source.lost.get("invalid_timestamp", 0), 0)
            launches = {launch[0] for launch in source.launch_records}
            self.assertEqual(len(launches), source.launches)
            # Callbacks and activity records do not begin and end together. So work may lack its launch, but only before the
            # first reported launch or after the last one.
            first, last = self.bounds(source)
            strange = [op["start_ns"] for op in source.gpu_ops if op["correlation"] not in launches]
            self.assertEqual([start for start in strange if first <= start <= last], [])
            self.assertEqual(int(source.meta["cupti.valid_records"]), len(source.gpu_ops))
            recorded += source.launches
        self.assertIsNone(process.poll())
        did = json.loads(self.end_cuda(process))
        self.assertEqual(did["launches"], did["total_ops"])
        self.assertGreater(did["launches"], recorded)

    def bounds(self, source):
        """Returns the times of the first and the last reported launch."""
        times = [launch[3] for launch in source.launch_records]
        return min(times), max(times)

    def test_an_idle_program_can_be_recorded_twice(self):
        process = self.start_idle()
        for _ in range(2):
            recorder = self.recorder()
            self.attach_and_connect(process.pid, recorder)
            self.assertTrue(wait_for(lambda: recorder.sources[0].state == "active"))
            source = self.retract(recorder, process.pid)
            self.assertEqual((source.launches, source.gpu_ops), (0, []))
            self.assertNotIn("cupti.retracted", source.meta)
        self.assert_ends_well(process, "end\n")

    def test_launches_of_all_threads_are_recorded(self):
        process = self.start_cuda("--gap-us", "300", "--threads", "6")
        recorder = self.recorder()
        self.attach_and_connect(process.pid, recorder)
        source = recorder.sources[0]
        if not wait_for(lambda: len({launch[1] for launch in source.launch_records}) == 6):
            launches = collections.Counter(launch[1] for launch in source.launch_records)
            self.fail(f"launches by thread: {launches}, lost {source.lost}, state {source.state}, "
                      f"threads {threads(process.pid)}, recorder {recorder.error}")
        self.retract(recorder, process.pid)
        self.end_cuda(process)

    def test_a_recording_until_the_program_ends_loses_nothing(self):
        process = self.start_cuda("--gap-us", "300")
        recorder = self.recorder()
        self.attach_and_connect(process.pid, recorder)
        self.assertTrue(wait_for(lambda: len(recorder.sources[0].gpu_ops) > 3000))
        self.end_cuda(process)
        recorder.close()
        source, = recorder.sources
        self.assertEqual((source.state, source.lost), ("finished", {}))
        # Callbacks and activity records do not begin at the same time. So the first launches may lack work, or the first
        # work may lack launches; all later ones belong together.
        launches, done = {launch[0] for launch in source.launch_records}, {op["correlation"] for op in source.gpu_ops}
        first, _ = self.bounds(source)
        self.assertEqual([op for op in source.gpu_ops
                          if op["correlation"] not in launches and op["start_ns"] > first], [])
        both = min(launch[3] for launch in source.launch_records if launch[0] in done)
        self.assertEqual([row for row in source.launch_records if row[0] not in done and row[3] > both], [])
        self.assertGreater(len(launches & done), 1000)

    def test_the_library_leaves_after_its_recorder_was_killed(self):
        process = self.start_cuda("--gap-us", "300")
        recorder = self.recorder()
        self.attach_and_connect(process.pid, recorder)
        recorder.silent = True  # as if the recorder had died a minute ago
        self.assertTrue(wait_for(lambda: self.ours not in threads(process.pid)))
        self.assertEqual(recorder.sources[0].state, "finished")
        again = self.recorder()
        self.attach_and_connect(process.pid, again)
        self.assertTrue(wait_for(lambda: len(again.sources[0].gpu_ops) > 100))
        self.retract(again, process.pid)
        process.kill()

    def test_a_second_recorder_at_the_same_time_is_refused(self):
        process = self.start_idle()
        recorder = self.recorder()
        self.attach_and_connect(process.pid, recorder)
        result = self.attach(process.pid, self.recorder(), expect=1)
        self.assertIn("is being recorded already", result["error"])
        self.assert_ends_well(process, "end\n")

    def test_another_cupti_subscriber_disables_the_source(self):
        recorder = self.recorder()
        os.environ["MOCK_CUPTI_FAULTS"] = "subscriber_conflict"
        try:
            faulty = self.start_idle()
        finally:
            del os.environ["MOCK_CUPTI_FAULTS"]
        self.attach_and_connect(faulty.pid, recorder)
        source, = recorder.sources
        self.assertTrue(wait_for(lambda: source.state == "disabled"))
        self.assertIn("another profiler uses CUPTI", source.reason)
        self.assertTrue(wait_for(lambda: self.ours not in threads(faulty.pid)))
        self.assert_ends_well(faulty, "end\n")


class Refusals(AttachTest):
    """If the library cannot be injected, one line says why, and the program is left as it was."""

    def refused(self, pid):
        recorder = self.recorder()
        error = self.attach(pid, recorder, expect=1)["error"]
        self.assertNotIn("\n", error)
        self.assertEqual(recorder.sources, [])
        return error

    def test_a_process_that_does_not_exist_is_refused(self):
        self.assertEqual(self.refused(4194303), "no process 4194303")

    def test_a_static_program_is_refused(self):
        process = self.start(STATIC_APP, "read")
        self.assertIn("statically linked", self.refused(process.pid))
        self.assert_ends_well(process, "go\n")

    def test_a_stopped_program_is_refused(self):
        process = self.start(WAITING_APP, "read")
        process.send_signal(signal.SIGSTOP)
        self.assertTrue(wait_for(lambda: in_status(process.pid, r"T \(stopped\)")))
        self.assertIn("is stopped", self.refused(process.pid))
        process.send_signal(signal.SIGCONT)
        self.assert_ends_well(process, "go\n")

    def test_a_program_with_a_debugger_is_refused(self):
        strace = shutil.which("strace") or shutil.which("gdb")
        if strace is None:
            self.skipTest("no strace and no gdb")
        process = self.start(WAITING_APP, "read")
        tracer = subprocess.Popen([strace, "-p", str(process.pid)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.assertTrue(wait_for(lambda: in_status(process.pid, r"TracerPid:\t[1-9]")))
        self.assertIn("is being traced", self.refused(process.pid))
        tracer.kill()
        tracer.wait()
        tracer.stdin.close()

    def test_a_thread_id_is_refused(self):
        process = self.start_cuda("--threads", "3", "--gap-us", "500")
        other = next(tid for tid in os.listdir(f"/proc/{process.pid}/task") if int(tid) != process.pid)
        self.assertIn(f"is a thread of process {process.pid}", self.refused(int(other)))
        self.end_cuda(process)

    def test_a_process_in_another_pid_namespace_can_be_recorded(self):
        if os.geteuid() != 0 or subprocess.run(["unshare", "-p", "-f", "true"], check=False).returncode != 0:
            self.skipTest("no right to make a pid namespace")
        process = self.start("unshare", "-p", "-f", "--mount-proc", WAITING_APP, "read")
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        with open(children, encoding="ascii") as file:
            inner = int(file.read().split()[0])
        self.attach_and_connect(inner, self.recorder())
        self.assert_ends_well(process, "go\n")


if __name__ == "__main__":
    rig.main()
