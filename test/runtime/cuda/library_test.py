#!/usr/bin/env python3
"""Tests the CUPTI injection library in a mock driver program, which knows to the nanosecond what it did."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import rig
import wire_recorder
from wire_layout import (CORRELATION_HOST as HOST, CORRELATION_NODE as NODE, GPU_OP_MORE,
                         GRAPH_NODE_DESTROYED as NODE_DESTROYED, GRAPH_NODE_UPDATED as NODE_UPDATED, HOST_OPS,
                         OPTION_WINDOWS)
from wire_recorder import (CONTROL_CALLS, CONTROL_ENABLED, CONTROL_FLUSH, CONTROL_LAUNCH_RECORDS,
                           NO_DEVICE, OPTION_LATENCY, OPTION_WHOLE_GRAPHS)

APP = os.environ["MOCK_CUDA_APP"]
MOCKS = os.environ["MOCK_CUDA_DIR"]
INJECTION = os.environ["CUPTI_INJECTION"]
DLCLOSE_APP = os.environ["MOCK_DLCLOSE_APP"]
NEXT_INJECTION = os.environ["MOCK_NEXT_INJECTION"]


class InjectionTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-test.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def environment(self, **extra):
        unset = ("CUDA_INJECTION64_PATH", "MOCK_CUPTI_FAULTS", "GPUPROF_CUPTI_PATH", "GPUPROF_CUPTI_DOMAINS")
        clean = {name: value for name, value in os.environ.items() if name not in unset}
        return {**clean, "LD_LIBRARY_PATH": MOCKS, "CUDA_INJECTION64_PATH": INJECTION, **extra}

    def start(self, *arguments, control=CONTROL_ENABLED | CONTROL_LAUNCH_RECORDS, options=0,
              app=APP, sampling_period=0, **extra):
        """Starts a recorder and the app; both end with the test."""
        recorder = wire_recorder.Recorder(control, options, sampling_period=sampling_period)
        self.addCleanup(lambda: recorder.stopping.is_set() or recorder.close())
        process = subprocess.Popen([app, *arguments], env=self.environment(**recorder.environment(), **extra),
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return recorder, process

    def finish(self, recorder, process, expect=0):
        """Waits for the app; returns (its only source, what the app printed)."""
        stdout, stderr = process.communicate(timeout=60)
        recorder.close()
        self.assertEqual((process.returncode, stderr), (expect, ""))
        self.assertEqual(len(recorder.sources), 1)
        return recorder.sources[0], json.loads(stdout)

    def run_app(self, *arguments, faults="", **extra):
        return self.finish(*self.start(*arguments, MOCK_CUPTI_FAULTS=faults, **extra))

    def assert_exact(self, source, did, state="finished"):
        self.assertEqual((source.state, source.reason), (state, ""))
        self.assertEqual(source.totals(), did["ops"])
        host = source.host_totals()
        self.assertEqual(host.pop("failed", {"count": 0})["count"], did["failed"])
        self.assertEqual(host, did["host"])
        self.assertEqual(source.launches, did["launches"])
        counts = {"captured": did["captured"], "failed": did["failed"], "gpu_ops": did["total_ops"]}
        self.assertEqual(source.counts, {name: count for name, count in counts.items() if count})
        self.assert_joined(source)
        self.assertEqual(source.lost, {"unfinished": did["unfinished"]} if did["unfinished"] else {})

    def assert_joined(self, source):
        """Checks that each launch was reported once, and that all work belongs to a launch."""
        launches = [launch[0] for launch in source.launch_records]
        self.assertEqual(len(set(launches)), len(launches))
        self.assertLessEqual({op["correlation"] for op in source.gpu_ops}, set(launches))
        # Each wait, each allocation and each failed call has the stack of its call.
        self.assertLessEqual({op["correlation"] for op in source.host_ops} - {0}, {*source.stacks, *launches})
        nodes = {op["graph_node"] for op in source.gpu_ops} - {0}
        self.assertLessEqual(nodes, {node["node"] for node in source.graph_nodes})


class Exactness(InjectionTest):
    def test_runtime_calls_are_recorded_exactly(self):
        source, did = self.run_app("--launches", "100")
        self.assert_exact(source, did)
        self.assertEqual(source.meta["cupti.timestamps"], "callback")
        self.assertEqual(source.meta["cupti.path"], os.path.join(MOCKS, "libcupti.so.13"))
        self.assertEqual([source.names[name] for name in source.devices.values()], ["Mock GPU 0", "Mock GPU 1"])
        self.assertEqual([source.names[uuid] for uuid in source.uuids.values()],
                         ["GPU-00010203-0405-0607-0809-0a0b0c0d0ef0", "GPU-00010203-0405-0607-0809-0a0b0c0d0ef1"])

    def test_five_devices_are_recorded_exactly(self):
        source, did = self.run_app("--launches", "20", "--threads", "5", MOCK_CUDA_DEVICES="5")
        self.assert_exact(source, did)
        self.assertEqual({op["device"] for op in source.gpu_ops}, set(range(5)))
        self.assertEqual(len({source.names[uuid] for uuid in source.uuids.values()}), 5)

    def test_driver_calls_are_recorded_exactly(self):
        self.assert_exact(*self.run_app("--launches", "100", "--driver-api"))

    def test_threads_on_two_devices_are_recorded_exactly(self):
        source, did = self.run_app("--launches", "200", "--threads", "4")
        self.assert_exact(source, did)
        self.assertEqual({op["device"] for op in source.gpu_ops}, {0, 1})
        self.assertEqual(len({(op["context"], op["stream"]) for op in source.gpu_ops}), 4)
        self.assertEqual(len({launch[1] for launch in source.launch_records}), 4)

    def test_more_records_than_a_buffer_holds_are_recorded_exactly(self):
        self.assert_exact(*self.run_app("--launches", "6000", "--kernels-only"))

    def test_graph_launches_are_recorded_exactly(self):
        source, did = self.run_app("--launches", "1", "--graph", "20")
        self.assert_exact(source, did)
        nodes = [op for op in source.gpu_ops if op["flags"] & GPU_OP_MORE]
        self.assertEqual(len(nodes), 40)
        self.assertEqual(len({op["correlation"] for op in nodes}), 20)

    def test_each_callback_domain_records_all_launches(self):
        self.assert_exact(*self.run_app("--launches", "50", GPUPROF_CUPTI_DOMAINS="driver"))
        self.assert_exact(*self.run_app("--launches", "50", GPUPROF_CUPTI_DOMAINS="both"))
        source, did = self.run_app("--launches", "50", "--kernels-only", GPUPROF_CUPTI_DOMAINS="runtime")
        self.assertEqual((source.totals(), source.launches), (did["ops"], did["launches"]))
        self.assert_joined_launches(source)

    def assert_joined_launches(self, source):
        self.assertLessEqual({op["correlation"] for op in source.gpu_ops}, {row[0] for row in source.launch_records})

    def test_activity_records_without_callbacks_have_no_launches(self):
        source, did = self.run_app("--launches", "50", GPUPROF_CUPTI_DOMAINS="none")
        self.assertEqual(source.totals(), did["ops"])
        self.assertEqual((source.launches, source.launch_records, source.stacks), (0, [], {}))

    def test_each_stream_is_recorded_exactly(self):
        source, did = self.run_app("--launches", "0", "--streams", "7", "--per-stream", "50")
        self.assert_exact(source, did)
        self.assertEqual(len({op["stream"] for op in source.gpu_ops}), 7)

    def test_all_launch_variants_are_recorded_exactly(self):
        for domains in ("driver", "both"):
            source, did = self.run_app("--launches", "0", "--variants", "20", GPUPROF_CUPTI_DOMAINS=domains)
            self.assert_exact(source, did)
            batches = [op for op in source.gpu_ops if op["flags"] & GPU_OP_MORE]
            self.assertEqual((len(batches), len({op["correlation"] for op in batches})), (60, 20))

    def test_failed_launches_are_counted(self):
        source, did = self.run_app("--launches", "10", "--fail", "30")
        self.assert_exact(source, did)
        self.assertEqual(source.counts["failed"], 30)

    def test_launches_have_their_time_and_thread(self):
        begin = time.monotonic_ns()
        source, did = self.run_app("--launches", "20", "--threads", "2")
        self.assert_exact(source, did)
        times = {launch[0]: launch[3] for launch in source.launch_records}
        for op in source.gpu_ops:
            self.assertLess(begin, times[op["correlation"]])
            self.assertLess(times[op["correlation"]], op["start_ns"])
        self.assertEqual({launch[2] for launch in source.launch_records}, {"mock_cuda_app", "worker-1"})

    def test_calls_have_the_times_of_their_launches(self):
        control = CONTROL_ENABLED | CONTROL_LAUNCH_RECORDS | CONTROL_CALLS
        source, did = self.finish(*self.start("--launches", "20", "--driver-api", control=control))
        self.assert_exact(source, did)
        calls = {call["correlation"]: call for call in source.calls}
        self.assertEqual(len(source.calls), did["launches"])
        for correlation, tid, _, when, _ in source.launch_records:
            call = calls[correlation]
            self.assertTrue(call["start_ns"] <= when <= call["end_ns"])
            self.assertEqual(call["tid"], tid)
        functions = {source.names[call["name_id"]] for call in source.calls}
        self.assertIn("cuLaunchKernel", functions)
        self.assertEqual(len(functions), 6)

    def test_times_are_those_of_the_monotonic_clock(self):
        for faults, how in (("", "callback"), ("refuse_timestamp_callback", "offset")):
            begin = time.monotonic_ns()
            source, did = self.run_app("--launches", "20", faults=faults)
            end = time.monotonic_ns()
            self.assertEqual(source.meta["cupti.timestamps"], how)
            self.assert_exact(source, did)
            for op in source.gpu_ops:
                self.assertGreater(op["start_ns"], begin)
                self.assertLess(op["end_ns"], end)


class HostOps(InjectionTest):
    """Tests host operations: waits and memory."""

    def of(self, source, kind):
        return [op for op in source.host_ops if HOST_OPS[op["op"]] == kind]

    def test_waits_have_their_names_and_times(self):
        for domains in ("driver", "both"):
            source, did = self.run_app("--launches", "0", "--sync", "40", GPUPROF_CUPTI_DOMAINS=domains)
            self.assert_exact(source, did)
            syncs = self.of(source, "sync")
            self.assertEqual({source.names[op["name_id"]] for op in syncs},
                             {"cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize"})
            # The first of the three waits is for the kernel of 16 us, unless that has already ended.
            events = [op for op in syncs if source.names[op["name_id"]] == "cuEventSynchronize"]
            kernels = sorted(op["end_ns"] for op in source.gpu_ops)
            self.assertEqual((len(events), len(kernels)), (40, 40))
            for wait, kernel in zip(sorted(events, key=lambda op: op["start_ns"]), kernels):
                self.assertLessEqual(kernel, wait["end_ns"])
            for earlier, wait in zip(kernels, sorted(op["start_ns"] for op in events)[1:]):
                self.assertLess(earlier, wait)
            for op in syncs:
                self.assertLessEqual(op["start_ns"], op["end_ns"])
                self.assertEqual((op["device"], op["tid"]), (NO_DEVICE, source.stacks[op["correlation"]][0]))
                self.assertTrue(op["correlation"] & HOST)

    def test_allocations_have_their_bytes_and_device(self):
        source, did = self.run_app("--launches", "2", "--alloc", "25", "--threads", "2")
        self.assert_exact(source, did)
        self.assertEqual({op["device"] for op in self.of(source, "alloc")}, {0, 1})
        for op in self.of(source, "alloc") + self.of(source, "free"):
            self.assertEqual(op["start_ns"], op["end_ns"])
            self.assertNotEqual(op["correlation"], 0)

    def test_a_program_without_launches_has_its_allocations(self):
        source, did = self.run_app("--launches", "0", "--alloc", "3")
        self.assert_exact(source, did)
        self.assertEqual(source.launches, 0)

    def test_refused_memory_records_leave_waits_and_work_complete(self):
        source, did = self.run_app("--launches", "20", "--alloc", "5", faults="refuse_memory")
        self.assertEqual(source.totals(), did["ops"])
        self.assertEqual(set(source.host_totals()), {"sync"})

    def test_page_faults_and_migrations_are_recorded(self):
        source, did = self.run_app("--launches", "0", "--managed", "30")
        self.assertEqual(source.meta["cupti.unified_memory"], "on")
        self.assert_exact(source, did)
        for kind in ("fault_gpu", "fault_cpu", "migrate_htod", "migrate_dtoh"):
            self.assertEqual({op["correlation"] for op in self.of(source, kind)}, {0})
        self.assertEqual({op["device"] for op in self.of(source, "fault_gpu")}, {0})
        self.assertEqual({op["device"] for op in self.of(source, "fault_cpu")}, {NO_DEVICE})

    def test_refused_unified_memory_leaves_the_work_complete(self):
        source, did = self.run_app("--launches", "100", "--gap-us", "5000", faults="refuse_unified_memory")
        self.assertNotEqual(source.meta["cupti.unified_memory"], "on")
        self.assert_exact(source, did)


class Latency(InjectionTest):
    ARGUMENTS = ("--launches", "50", "--kernels-only", "--graph", "5")

    def kernels(self, **settings):
        source, did = self.finish(*self.start(*self.ARGUMENTS, **settings))
        self.assert_exact(source, did)
        nodes = [op for op in source.gpu_ops if op["graph_node"]]
        # CUPTI gives graph nodes the queue times of another launch, so they are not reported.
        self.assertEqual({(op["queued_ns"], op["submitted_ns"]) for op in nodes}, {(0, 0)})
        return source, [op for op in source.gpu_ops if not op["graph_node"]]

    def test_without_the_option_no_queue_times_are_recorded(self):
        source, kernels = self.kernels()
        self.assertEqual({(op["queued_ns"], op["submitted_ns"]) for op in kernels}, {(0, 0)})
        self.assertNotIn("cupti.latency", source.meta)

    def test_with_the_option_queue_times_are_recorded(self):
        for faults in ("", "refuse_timestamp_callback"):
            source, kernels = self.kernels(options=OPTION_LATENCY, MOCK_CUPTI_FAULTS=faults)
            self.assertEqual(source.meta["cupti.latency"], "on")
            launched = {row[0]: row[3] for row in source.launch_records}
            for op in kernels:
                self.assertLess(launched[op["correlation"]] - 1000000, op["queued_ns"])
                self.assertLessEqual(op["queued_ns"], op["submitted_ns"])
                self.assertEqual(op["start_ns"] - op["submitted_ns"], 500)

    def test_refused_latency_records_no_queue_times(self):
        source, kernels = self.kernels(options=OPTION_LATENCY, MOCK_CUPTI_FAULTS="refuse_latency")
        self.assertEqual({(op["queued_ns"], op["submitted_ns"]) for op in kernels}, {(0, 0)})
        self.assertNotEqual(source.meta["cupti.latency"], "on")

    def test_queue_times_in_the_wrong_order_are_unknown(self):
        _, kernels = self.kernels(options=OPTION_LATENCY, MOCK_CUPTI_FAULTS="reversed_latency=5")
        unknown = [op for op in kernels if (op["queued_ns"], op["submitted_ns"]) == (0, 0)]
        self.assertEqual(len(unknown), len(kernels) // 5)


class Graphs(InjectionTest):
    def captured(self, source):
        """Returns {graph node that ran: the captured or added node that it is a copy of}."""
        origin = {node["node"]: node["original"] for node in source.graph_nodes if not node["flags"]}
        result = {}
        for op in source.gpu_ops:
            node = op["graph_node"]
            while origin.get(node, 0):
                node = origin[node]
            result[op["graph_node"]] = node
        return result

    def assert_attributed(self, source, nodes):
        """Checks that all work leads to one of `nodes` nodes, each with its own stack."""
        captured = self.captured(source)
        self.assertEqual(len(set(captured.values())), nodes)
        for node in captured.values():
            self.assertIn(NODE | node, source.stacks)

    def test_each_captured_node_is_recorded_once_per_replay(self):
        source, did = self.run_app("--launches", "0", "--graph-nodes", "10", "--graph-replays", "30")
        self.assert_exact(source, did)
        self.assertEqual((len(source.gpu_ops), source.counts["captured"]), (300, 10))
        self.assertEqual(source.meta["cupti.graphs"], "node")
        self.assert_attributed(source, 10)
        # Each captured launch has a record that names its node. The launch itself did not run, so it has no GPU record.
        launches = {node["launch"]: node["node"] for node in source.graph_nodes if node["launch"]}
        self.assertEqual(len(launches), 10)
        self.assertFalse(set(launches) & {op["correlation"] for op in source.gpu_ops})

    def test_nodes_added_by_hand_have_the_stack_of_their_call(self):
        source, did = self.run_app("--launches", "0", "--graph", "20")
        self.assert_exact(source, did)
        self.assert_attributed(source, 2)
        self.assertEqual({node["launch"] for node in source.graph_nodes}, {0})

    def test_nodes_of_cloned_instances_keep_their_capture_stack(self):
        source, did = self.run_app("--launches", "3", "--graph-nodes", "6", "--graph-replays", "5", "--graph-instances",
                                   "4", "--capture-thread", "--clone-graph")
        self.assert_exact(source, did)
        nodes = [op for op in source.gpu_ops if op["graph_node"]]
        self.assertEqual(len(nodes), 6 * 5 * 4)
        self.assertEqual(len({op["graph_node"] for op in nodes}), 6 * 4)
        captured = set(self.captured(source).values()) - {0}
        self.assertEqual(len(captured), 6)
        self.assertEqual({source.stacks[NODE | node][1] for node in captured}, {"capture"})
        threads = {row[0]: row[2] for row in source.launch_records}
        self.assertEqual({threads[op["correlation"]] for op in nodes}, {"mock_cuda_app"})

    def test_an_updated_node_has_the_stack_of_its_new_original(self):
        source, did = self.run_app("--launches", "0", "--graph-nodes", "4", "--graph-replays", "10", "--update-graph")
        self.assert_exact(source, did)
        self.assert_attributed(source, 4)
        updated = {node["node"]: node["original"] for node in source.graph_nodes if node["flags"] & NODE_UPDATED}
        self.assertEqual(set(updated), {op["graph_node"] for op in source.gpu_ops})
        names = {node["node"]: node["name_id"] for node in source.graph_nodes if not node["flags"]}
        for op in source.gpu_ops:
            self.assertIn(NODE | updated[op["graph_node"]], source.stacks)
            self.assertEqual(names[updated[op["graph_node"]]], op["name_id"])

    def test_destroyed_nodes_are_reported_once(self):
        source, _ = self.run_app("--launches", "0", "--graph-nodes", "5", "--graph-instances", "2")
        made = [node["node"] for node in source.graph_nodes if not node["flags"]]
        gone = [node["node"] for node in source.graph_nodes if node["flags"] & NODE_DESTROYED]
        # Five nodes, and a copy of each in both instantiated graphs, are each reported once as made and once as destroyed.
        self.assertEqual((len(made), sorted(made)), (15, sorted(gone)))
        self.assertEqual(len([key for key in source.stacks if key & NODE]), 5)

    def test_whole_graphs_have_one_record_per_launch(self):
        source, did = self.finish(*self.start("--launches", "0", "--graph-nodes", "8", "--graph-replays", "12",
                                              options=OPTION_WHOLE_GRAPHS))
        self.assertEqual(source.meta["cupti.graphs"], "whole")
        self.assertEqual({name: op["count"] for name, op in source.totals().items()}, {"graph": 12})
        # A graph's time is from the first node's start to the last node's end, including gaps.
        self.assertGreaterEqual(source.totals()["graph"]["ns"], did["total_ns"])
        self.assertEqual(source.counts, {"captured": 8, "gpu_ops": 12})
        self.assert_joined(source)


class Guest(InjectionTest):
    """Tests what the library must not do to the program."""

    def test_output_and_status_are_the_programs_own(self):
        plain = subprocess.run([APP, "--ending", "_exit"], env=self.environment(CUDA_INJECTION64_PATH=""),
                               capture_output=True, text=True, check=False)
        source, did = self.finish(*self.start("--ending", "_exit"), expect=7)
        self.assertEqual(plain.returncode, 7)
        self.assertEqual({**json.loads(plain.stdout), "pid": 0}, {**did, "pid": 0})
        self.assertEqual(source.state, "active")  # the program ends by _exit(), so the library cannot report its end

    def test_a_program_without_a_recorder_runs_undisturbed(self):
        for extra in ({}, {"GPUPROF_SOCKET": "gpuprof-test-nobody-listens", "GPUPROF_TOKEN": "0" * 32}):
            run = subprocess.run([APP], env=self.environment(**extra), capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_forked_children_neither_crash_nor_count(self):
        self.assert_exact(*self.run_app("--launches", "50", "--fork"))

    def test_work_that_runs_at_exit_is_recorded(self):
        begin = time.monotonic()
        self.assert_exact(*self.run_app("--launches", "20", "--unfinished"))
        self.assertLess(time.monotonic() - begin, 20)  # takes two seconds on an idle machine

    def test_the_users_own_injection_library_is_called(self):
        mark = os.path.join(self.folder, "mark")
        self.assert_exact(*self.run_app(GPUPROF_NEXT_CUDA_INJECTION=NEXT_INJECTION, MOCK_NEXT_MARK=mark))
        with open(mark, encoding="ascii") as file:
            self.assertEqual(file.read(), "called\n")

    def test_an_injection_library_that_uses_cupti_keeps_its_subscription(self):
        mark = os.path.join(self.folder, "mark")
        source, _ = self.run_app(GPUPROF_NEXT_CUDA_INJECTION=NEXT_INJECTION, MOCK_NEXT_MARK=mark,
                                 MOCK_NEXT_SUBSCRIBES="1")
        with open(mark, encoding="ascii") as file:
            self.assertEqual(file.read(), "called, subscribed\n")
        self.assertEqual(source.state, "disabled")
        self.assertIn("another profiler uses CUPTI", source.reason)


class InTime(InjectionTest):
    """Records arrive while the program runs."""

    def wait_for(self, condition):
        self.assertTrue(rig.wait_for(condition, pause=0.01), "waited in vain")

    def test_work_of_a_second_before_a_kill_is_recorded(self):
        def seconds_until_all_is_there():
            recorder, process = self.start("--launches", "100", "--sleep-ms", "60000")
            did = json.loads(process.stdout.readline())
            begin = time.monotonic()
            self.wait_for(lambda: recorder.sources and len(recorder.sources[0].gpu_ops) >= did["total_ops"])
            seconds = time.monotonic() - begin
            process.send_signal(signal.SIGKILL)
            process.wait()
            recorder.close()
            self.assertEqual(recorder.sources[0].totals(), did["ops"])
            self.assertEqual(recorder.sources[0].state, "active")
            return seconds

        self.assertLess(rig.least(seconds_until_all_is_there, 1.5), 1.5)

    def test_a_flush_request_delivers_all_finished_work(self):
        recorder, process = self.start("--launches", "100", "--sleep-ms", "60000", GPUPROF_CUPTI_FLUSH_MS="1000")
        did = json.loads(process.stdout.readline())
        source = recorder.sources[0]
        source.control |= CONTROL_FLUSH
        self.wait_for(lambda: source.flushed)
        process.kill()
        process.wait()
        recorder.close()
        self.assertEqual(source.totals(), did["ops"])

    def test_cupti_detaches_although_earlier_pauses_were_too_short(self):
        """Launches while CUPTI is switched on again make no records, so no later pause may wait for them."""
        recorder, process = self.start("--rate", "20000", "--seconds", "6", options=OPTION_WINDOWS)
        self.wait_for(lambda: recorder.sources and recorder.sources[0].launches > 1000)
        source = recorder.sources[0]

        def attachment():
            """Returns how many times CUPTI was attached again, from the id of the last launch."""
            launches = len(source.launch_records)
            self.wait_for(lambda: len(source.launch_records) > launches + 100)
            return source.launch_records[-1][0] >> 32

        for _ in range(30):
            source.control &= ~CONTROL_ENABLED
            time.sleep(0.006)
            source.control |= CONTROL_ENABLED
            time.sleep(0.02)
        before = attachment()
        source.control &= ~CONTROL_ENABLED
        time.sleep(3)
        source.control |= CONTROL_ENABLED
        self.assertEqual(attachment(), before + 1)
        source, did = self.finish(recorder, process)
        self.assertAlmostEqual(source.launches + source.counts["passed"], did["launches"], delta=did["launches"] / 50)

    def test_the_library_stops_recording_after_the_recorder_has_gone(self):
        recorder, process = self.start("--launches", "100000", "--kernels-only", "--gap-us", "5000")
        self.wait_for(lambda: recorder.sources and recorder.sources[0].launches > 30)
        source = recorder.sources[0]
        recorder.silent = True

        def stands_still(seconds):
            launches, ops = source.launches, len(source.gpu_ops)
            time.sleep(seconds)
            return (source.launches, len(source.gpu_ops)) == (launches, ops)

        self.wait_for(lambda: stands_still(1))
        self.assertTrue(stands_still(1.5))
        launches, ops = source.launches, len(source.gpu_ops)
        recorder.silent = False  # the recorder was only stopped, and goes on
        self.wait_for(lambda: source.launches > launches + 30 and len(source.gpu_ops) > ops + 30)
        self.wait_for(lambda: "cupti.not_recorded_ms" in source.meta)
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
        for op in source.gpu_ops:
            kernel = did["ops"][source.names[op["name_id"]]]
            self.assertEqual(op["end_ns"] - op["start_ns"], kernel["ns"] // kernel["count"])

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

    def test_buffers_that_can_not_be_read_are_counted(self):
        source, did = self.run_app("--launches", "300", "--threads", "4", faults="broken_buffers=2")
        self.assertGreater(source.lost["vendor_dropped"], 0)
        self.assertLess(len(source.gpu_ops), did["total_ops"])
        self.assertEqual((source.launches, source.state), (did["launches"], "finished"))

    def test_buffers_from_several_threads_are_read_exactly(self):
        self.assert_exact(*self.run_app("--launches", "1000", "--threads", "4", faults="threads"))

    def test_buffers_out_of_order_are_read_exactly(self):
        self.assert_exact(*self.run_app("--launches", "1000", "--threads", "4", faults="out_of_order"))
        self.assert_exact(*self.run_app("--launches", "1000", "--threads", "4", faults="out_of_order,threads"))

    def test_correlation_ids_may_wrap(self):
        source, did = self.run_app("--launches", "200", "--sync", "5", "--alloc", "2",
                                   faults=f"first_correlation={2**32 - 500}")
        self.assert_exact(source, did)
        ids = {op["correlation"] for op in source.gpu_ops}
        self.assertLess(min(ids), 2**16)
        self.assertGreater(max(ids), 2**32 - 2**16)

    def test_correlation_ids_may_be_reused(self):
        # The program reuses a correlation id after two seconds, long after the id's first record was delivered.
        source, did = self.run_app("--launches", "0", "--rate", "1000", "--seconds", "4", faults="repeat_correlation=2000")
        self.assertEqual((source.totals(), len(source.launch_records)), (did["ops"], did["launches"]))

    def test_records_may_arrive_after_their_context_and_module_are_destroyed(self):
        self.assert_exact(*self.run_app("--launches", "500", "--threads", "3", "--ending", "reset"))

    def test_insufficient_privileges_disable_the_source_with_a_reason(self):
        source, _ = self.run_app(faults="insufficient_privileges")
        self.assertEqual(source.state, "disabled")
        self.assertIn("NVreg_RestrictProfilingToAdminUsers", source.reason)

    def test_another_subscriber_disables_the_source_with_a_reason(self):
        source, _ = self.run_app(faults="subscriber_conflict")
        self.assertEqual(source.state, "disabled")
        self.assertIn("another profiler uses CUPTI", source.reason)
        self.assertEqual((source.launches, source.gpu_ops), (0, []))

    def test_a_cupti_with_another_record_layout_is_refused(self):
        source, _ = self.run_app(faults="old_version=16")
        self.assertEqual(source.state, "disabled")
        self.assertIn("is CUPTI 16, whose record format is not supported", source.reason)
        self.assertEqual((source.launches, source.gpu_ops), (0, []))
        oldest, _ = self.run_app(faults="old_version=17")
        self.assertGreater(len(oldest.gpu_ops), 0)

    def test_a_cupti_without_memory_disables_the_source_with_a_reason(self):
        source, _ = self.run_app(faults="out_of_memory")
        self.assertEqual(source.state, "disabled")
        self.assertIn("error 8", source.reason)

    def test_a_flush_that_hangs_does_not_hang_the_program(self):
        begin = time.monotonic()
        source, did = self.run_app("--launches", "100", faults="hang_flush")
        self.assertLess(time.monotonic() - begin, 20)  # takes two seconds on an idle machine
        self.assertEqual(source.launches, did["launches"])
        self.assertEqual(source.state, "finished")
        self.assertIn("held the end of the process for 2 s", source.meta["note.exit_flush"])


class MockRules(InjectionTest):
    """Proves that the mock rejects wrong use as strictly as the real library does."""

    def run_python(self, code):
        return subprocess.run([sys.executable, "-c", code], env=self.environment(CUDA_INJECTION64_PATH=""),
                              capture_output=True, text=True, check=False)

    def test_detaching_outside_a_callback_aborts(self):
        run = self.run_python("import ctypes; ctypes.CDLL('libcupti.so.13').cuptiFinalize()")
        self.assertEqual(run.returncode, -signal.SIGABRT)
        self.assertIn("outside of an API-EXIT callback", run.stderr)

    def test_an_unknown_fault_name_aborts(self):
        run = subprocess.run([APP], env=self.environment(MOCK_CUPTI_FAULTS="no_such_fault"), capture_output=True,
                             text=True, check=False)
        self.assertEqual(run.returncode, -signal.SIGABRT)


class Endings(InjectionTest):
    """All flushed data arrives, however the program ends."""

    def end_when_recorded(self, *arguments):
        """Lets the app end once its records have arrived. Returns (recorder, process, the line that the app printed)."""
        end = os.path.join(self.folder, "end")
        recorder, process = self.start("--launches", "200", *arguments, "--until", end)
        line = process.stdout.readline()
        did, source = json.loads(line), recorder.sources[0]
        self.assertTrue(rig.wait_for(lambda: (source.totals(), source.host_totals()) == (did["ops"], did["host"]),
                                     pause=0.02))
        with open(end, "w", encoding="ascii"):
            pass
        return recorder, process, line

    def assert_ends(self, ending, expect):
        recorder, process, line = self.end_when_recorded("--graph-nodes", "4", "--ending", ending)
        self.assertEqual((*process.communicate(timeout=60), process.returncode), ("", "", expect))
        recorder.close()
        source, = recorder.sources
        self.assert_exact(source, json.loads(line), state="active")

    def test_work_survives_an_exit_without_handlers(self):
        self.assert_ends("_exit", 7)

    def test_work_survives_an_abort(self):
        self.assert_ends("abort", -signal.SIGABRT)

    def test_work_survives_a_segmentation_fault(self):
        self.assert_ends("segv", -signal.SIGSEGV)

    def test_work_survives_a_kill(self):
        self.assert_ends("kill", -signal.SIGKILL)

    def test_a_program_that_executes_itself_has_two_sources(self):
        recorder, process, line = self.end_when_recorded("--ending", "exec")
        stdout, stderr = process.communicate(timeout=60)
        recorder.close()
        self.assertEqual((process.returncode, stderr), (0, ""))
        runs = [json.loads(line) for line in (line + stdout).splitlines()]
        self.assertEqual([source.pid for source in recorder.sources], [process.pid, process.pid])
        self.assert_exact(recorder.sources[0], runs[0], state="active")
        self.assert_exact(recorder.sources[1], runs[1])

    def test_closed_descriptors_do_not_disturb_the_recording(self):
        self.assert_exact(*self.run_app("--launches", "200", "--close-fds"))

    def test_cuda_can_be_unloaded(self):
        source, did = self.finish(*self.start(app=DLCLOSE_APP))
        self.assertEqual((source.state, source.lost), ("finished", {}))
        self.assertEqual(source.totals()["kernel"], {"count": did["launches"], "ns": did["total_ns"], "bytes": 0})
        self.assertFalse(did["loaded"])


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

    def test_the_variable_selects_the_cupti_library(self):
        for path in (MOCKS, os.path.join(MOCKS, "libcupti.so.13"), f"/nonexistent:{MOCKS}"):
            source, did = self.run_app(LD_LIBRARY_PATH=self.folder, GPUPROF_CUPTI_PATH=path)
            self.assert_exact(source, did)
            self.assertEqual(source.meta["cupti.path"], os.path.join(MOCKS, "libcupti.so.13"))

    def test_cupti_is_found_in_the_toolkit(self):
        if loader_finds_cupti():
            self.skipTest("the loader finds this machine's own libcupti.so.13 before any toolkit's")
        lib = os.path.join(self.folder, "toolkit/extras/CUPTI/lib64")
        os.makedirs(lib)
        os.symlink(os.path.join(MOCKS, "libcupti.so.13"), os.path.join(lib, "libcupti.so.13"))
        source, did = self.run_app(LD_LIBRARY_PATH=self.folder, CUDA_HOME=os.path.join(self.folder, "toolkit"))
        self.assert_exact(source, did)
        self.assertEqual(source.meta["cupti.path"], os.path.join(lib, "libcupti.so.13"))

    def test_cupti_is_found_beside_the_libraries_of_a_python_package(self):
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

    def test_a_library_that_is_not_cupti_is_refused(self):
        source, _ = self.run_app(LD_LIBRARY_PATH=self.folder, GPUPROF_CUPTI_PATH=NEXT_INJECTION)
        self.assertEqual(source.state, "disabled")
        self.assertIn("cuptiGetVersion", source.reason)


if __name__ == "__main__":
    rig.main()
