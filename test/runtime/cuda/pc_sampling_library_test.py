#!/usr/bin/env python3
"""Tests PC sampling in the CUPTI injection library alone: it reports each sample of the mock once, even if
the mock injects faults.

test/mocks/cupti/mock_cupti_sampling.h says which samples the mock takes."""

import collections
import os
import time

import rig
from library_into_running_test import AttachTest
from library_test import MOCKS, InjectionTest
from rig import wait_for
from wire_recorder import CONTROL_ENABLED, CONTROL_LAUNCH_RECORDS, OPTION_ATTACHED, OPTION_SAMPLES

CHEAP, DEAR = "_Z8assemblePfi", "_Z5solvePfi"
DURATIONS = {CHEAP: 4000, DEAR: 16000}
FILL_NS = 1524  # duration of a fill of 65536 bytes
DEFAULT_PERIOD = 2048
PERIOD = 64


def samples_of(ns, period):
    return ns * 2 // period


def expected_of(name, period):
    """Returns {(offset, reason): samples} of one launch."""
    samples = samples_of(DURATIONS[name], period)
    shares = {(0x10, "long_scoreboard"): samples // 2, (0x10, "barrier"): samples - samples // 2 - samples // 4,
              (0x90, "selected"): samples // 4}
    return {place: count for place, count in shares.items() if count}


class SamplingMixin:
    """Checks the samples of a source."""

    def sums(self, source):
        return {field: sum(window[field] for window in source.windows.values())
                for field in ("handed", "dropped", "foreign")}

    def told(self, source):
        """Returns {function: {(offset, reason): samples}}, and checks each window's count of sent samples."""
        told = collections.defaultdict(collections.Counter)
        self.assertLessEqual(set(source.samples), set(source.windows), "samples without a window")
        for number, window in source.windows.items():
            counts = 0
            for sample in source.samples.get(number, []):
                for reason, count in sample["reasons"].items():
                    told[source.names[sample["function_id"]]][sample["offset"], source.names[reason]] += count
                    counts += count
            self.assertEqual(counts, window["handed"], window)
        return told


class SamplingTest(SamplingMixin, InjectionTest):
    def sample(self, *arguments, faults="", period=PERIOD, **extra):
        return self.finish(*self.start_sampling(*arguments, faults=faults, period=period, **extra))

    def start_sampling(self, *arguments, faults="", period=PERIOD, **extra):
        return self.start(*arguments, options=OPTION_SAMPLES, sampling_period=period, MOCK_CUPTI_FAULTS=faults, **extra)

    def taken(self, did, period=PERIOD):
        """Returns the numbers of samples that the mock took: (in the program's kernels, in others)."""
        ops = did["ops"]
        own = sum(ops[name]["count"] * samples_of(ns, period) for name, ns in DURATIONS.items() if name in ops)
        return own, ops.get("fill", {"count": 0})["count"] * samples_of(FILL_NS, period)

    def assert_sampled(self, source, did, period=PERIOD):
        """Checks that no sample was dropped and that the samples are those of the mock."""
        own, foreign = self.taken(did, period)
        self.assertEqual(self.sums(source), {"handed": own, "dropped": 0, "foreign": foreign})
        expected = {name: {place: count * did["ops"][name]["count"] for place, count in expected_of(name, period).items()}
                    for name in DURATIONS if name in did["ops"]}
        self.assertEqual(self.told(source), expected)
        self.assert_accounted(source, did, period)

    def assert_accounted(self, source, did, period=PERIOD):
        self.assert_told(source, sum(self.taken(did, period)), period)
        self.assert_exact(source, did)

    def assert_told(self, source, taken, period=PERIOD):
        """Checks that the sampling windows count each sample once: as sent, as dropped, or as not in the program's code."""
        self.told(source)
        self.assertEqual(sum(self.sums(source).values()), taken)
        self.assertEqual({window["period"] for window in source.windows.values()}, {period})
        self.assertEqual(source.meta["sampling.total_samples"], str(taken))

    def assert_not_sampled(self, source, did):
        self.assert_exact(source, did)
        self.assertEqual((source.samples, source.windows), ({}, {}))


class Sampling(SamplingTest):
    def test_all_samples_are_reported(self):
        source, did = self.sample("--launches", "200")
        self.assert_sampled(source, did)
        self.assertNotIn("sampling.off", source.meta)

    def test_the_period_is_read_back(self):
        source, did = self.sample("--launches", "50", period=0)
        self.assert_sampled(source, did, DEFAULT_PERIOD)
        source, did = self.sample("--launches", "50", faults="refuse_period")
        self.assert_sampled(source, did, DEFAULT_PERIOD)
        self.assertIn("sampling.period_refused", source.meta)

    def test_nothing_is_sampled_without_the_option(self):
        source, did = self.run_app("--launches", "50")
        self.assert_not_sampled(source, did)
        self.assertFalse([key for key in source.meta if key.startswith("sampling.")])
        self.assertEqual(source.modules_of_code, {})

    def test_two_devices_are_sampled_exactly(self):
        source, did = self.sample("--launches", "100", "--threads", "2")
        self.assert_sampled(source, did)
        places = {(window["device"], window["context"]) for window in source.windows.values()}
        self.assertEqual(places, {(op["device"], op["context"]) for op in source.gpu_ops})
        self.assertEqual(len(places), 2)

    def test_graph_launches_are_sampled_exactly(self):
        source, did = self.sample("--launches", "1", "--graph", "20")
        self.assert_sampled(source, did)

    def test_windows_hold_the_times_of_their_kernels(self):
        source, did = self.sample("--launches", "300", "--gap-us", "5000")
        self.assert_sampled(source, did)
        self.assertGreater(len(source.windows), 1)
        kernels = [op for op in source.gpu_ops if source.names.get(op["name_id"]) in DURATIONS]
        for window in source.windows.values():
            of_launch = expected_of(CHEAP, PERIOD)[0x10, "barrier"]
            cheap = sum(sample["reasons"][reason] for sample in source.samples.get(window["window"], [])
                        for reason in sample["reasons"]
                        if (source.names[sample["function_id"]], source.names[reason]) == (CHEAP, "barrier"))
            inside = sum(1 for op in kernels if source.names[op["name_id"]] == CHEAP and
                         window["start_ns"] <= op["start_ns"] and op["end_ns"] <= window["end_ns"])
            self.assertLessEqual(cheap // of_launch, inside)

    def test_samples_of_a_destroyed_context_are_complete(self):
        source, did = self.sample("--launches", "50", "--threads", "2", "--ending", "reset")
        self.assert_sampled(source, did)

    def test_samples_arrive_while_the_program_runs(self):
        recorder, process = self.start_sampling("--launches", "50", "--sleep-ms", "20000")
        self.assertTrue(wait_for(lambda: recorder.sources and recorder.sources[0].windows))
        self.assertIsNone(process.poll())
        process.kill()
        process.wait()

    def test_a_forked_child_is_left_alone(self):
        source, did = self.sample("--launches", "50", "--fork")
        self.assert_sampled(source, did)


class Code(SamplingTest):
    def test_the_code_of_modules_is_sent(self):
        source, did = self.sample("--launches", "50")
        self.assert_sampled(source, did)
        module, = {sample["module"] for samples in source.samples.values() for sample in samples}
        self.assertNotEqual(module, 0)
        self.assertIn(b".nv.info." + CHEAP.encode(), source.modules_of_code[module])

    def test_equal_code_is_sent_once(self):
        source, did = self.sample("--launches", "50", "--threads", "4")
        self.assert_sampled(source, did)
        self.assertEqual(len(source.modules_of_code), 1)

    def test_a_large_module_is_sent_completely(self):
        path = os.path.join(self.folder, "code.cubin")
        with open(path, "wb") as file:
            file.write(b"\x7fELF" + bytes(1 << 20))
        source, did = self.sample("--launches", "50", MOCK_CUBIN=path)
        self.assert_sampled(source, did)
        code, = source.modules_of_code.values()
        self.assertEqual(len(code), 4 + (1 << 20))

    def test_refused_code_is_counted_as_a_lost_detail(self):
        recorder, process = self.start_sampling("--launches", "50")
        recorder.refuses_code = True
        source, did = self.finish(recorder, process)
        self.assertEqual(sum(self.sums(source).values()), sum(self.taken(did)))
        self.assertEqual({sample["module"] for samples in source.samples.values() for sample in samples}, {0})
        self.assertEqual(source.lost, {"detail": 1})


class Faults(SamplingTest):
    def test_partial_reads_lose_no_samples(self):
        source, did = self.sample("--launches", "100", "--threads", "2", faults="sampling_remaining=1")
        self.assert_sampled(source, did)

    def test_dropped_samples_are_counted(self):
        source, did = self.sample("--launches", "100", faults="sampling_dropped=5")
        self.assert_accounted(source, did)
        self.assertGreater(self.sums(source)["dropped"], 0)

    def test_full_buffers_restart_sampling_and_count_the_loss(self):
        for fault in ("sampling_out_of_memory=2", "sampling_buffer_full=2"):
            with self.subTest(fault=fault):
                taken = os.path.join(self.folder, fault)
                source, did = self.sample("--launches", "200", "--gap-us", "10000", faults=fault,
                                          MOCK_SAMPLES_TAKEN=taken)
                # Kernels that run while sampling is restarted have no samples.
                with open(taken, encoding="utf-8") as file:
                    self.assert_told(source, sum(map(int, file)))
                self.assert_exact(source, did)
                self.assertGreater(int(source.meta["sampling.restarts"]), 0)
                self.assertGreater(self.sums(source)["handed"], 0)
                self.assertGreater(self.sums(source)["dropped"], 0)

    def test_an_older_cupti_is_sampled_exactly(self):
        source, did = self.sample("--launches", "100", faults="old_version=19")
        self.assert_sampled(source, did)

    def test_each_refusal_has_its_remedy(self):
        remedies = {35: "NVreg_RestrictProfilingToAdminUsers=0", 26: "another tool holds", 27: "MPS", 41: "confidential",
                    43: "MIG", 33: "vGPU", 999: "CUPTI error 999"}
        for error, remedy in remedies.items():
            with self.subTest(error=error):
                source, did = self.sample("--launches", "20", faults=f"refuse_sampling={error}")
                self.assert_not_sampled(source, did)
                self.assertIn(remedy, source.meta["sampling.off"])
                self.assertNotIn("\n", source.meta["sampling.off"])


    def test_a_cupti_without_pc_sampling_is_reported(self):
        source, did = self.sample("--launches", "20", GPUPROF_CUPTI_PATH=os.path.join(MOCKS, "unsampled"))
        self.assertIn(os.path.join("unsampled", "libcupti.so.13"), source.meta["cupti.path"])
        self.assert_not_sampled(source, did)
        self.assertIn("CUDA 12", source.meta["sampling.off"])


class Pauses(SamplingTest):
    def test_no_samples_of_a_pause_are_reported(self):
        recorder, process = self.start_sampling("--launches", "1000", "--gap-us", "5000", "--kernels-only")
        self.assertTrue(wait_for(lambda: recorder.sources and recorder.sources[0].windows))
        source, = recorder.sources
        source.control = CONTROL_LAUNCH_RECORDS
        self.assertTrue(wait_for(lambda: self.stays(lambda: (len(source.windows), len(source.gpu_ops)))))
        before = set(source.windows)
        paused = time.monotonic_ns()
        source.control = CONTROL_ENABLED | CONTROL_LAUNCH_RECORDS
        source, did = self.finish(recorder, process)
        self.told(source)
        self.assertLess(sum(self.sums(source).values()), sum(self.taken(did)))
        after = [window for number, window in source.windows.items() if number not in before]
        self.assertGreater(len(after), 0)
        self.assertGreater(min(window["start_ns"] for window in after), paused)
        # Only recorded kernel executions have samples: those that ran while the recording was paused have none.
        recorded = {name: sum(source.names.get(op["name_id"]) == name for op in source.gpu_ops) for name in DURATIONS}
        self.assertAlmostEqual(self.sums(source)["handed"],
                               sum(recorded[name] * samples_of(ns, PERIOD) for name, ns in DURATIONS.items()),
                               delta=50 * samples_of(DURATIONS[DEAR], PERIOD))

    def stays(self, value, seconds=1.2):
        """Returns whether the value stays the same for `seconds`, by default longer than the library's interval between two
        reads of samples."""
        begin = value()
        return not wait_for(lambda: value() != begin, seconds)

    def test_a_recording_that_starts_paused_has_no_samples(self):
        recorder, process = self.start("--launches", "100", options=OPTION_SAMPLES, sampling_period=PERIOD,
                                       control=CONTROL_LAUNCH_RECORDS)
        source, _ = self.finish(recorder, process)
        self.assertEqual((source.samples, source.windows, source.gpu_ops), ({}, {}, []))


class Attached(SamplingMixin, AttachTest):
    def test_contexts_from_before_the_attach_are_sampled(self):
        process = self.start_cuda("--gap-us", "5000", "--threads", "2")
        for _ in range(2):  # the second recording must sample the same contexts
            self.record_for_a_while(process)
        process.kill()

    def record_for_a_while(self, process):
        recorder = self.recorder(options=OPTION_SAMPLES | OPTION_ATTACHED, sampling_period=PERIOD)
        self.attach_and_connect(process.pid, recorder)
        source, = recorder.sources
        self.assertTrue(wait_for(lambda: len({window["context"] for window in source.windows.values()}) == 2))
        source = self.retract(recorder, process.pid)  # the mock aborts a program whose CUPTI is removed while sampling
        self.assertIsNone(process.poll())
        told = self.told(source)
        self.assertEqual(set(told), set(DURATIONS))
        for name, places in told.items():
            launches, rest = divmod(sum(places.values()), sum(expected_of(name, PERIOD).values()))
            self.assertEqual((rest, places), (0, {place: count * launches
                                                  for place, count in expected_of(name, PERIOD).items()}))
        self.assertEqual({sample["module"] for samples in source.samples.values() for sample in samples}, {0})
        self.assertEqual(source.meta["sampling.total_samples"], str(sum(self.sums(source).values())))


if __name__ == "__main__":
    rig.main()
