#!/usr/bin/env python3
"""Tests `gpuprof record --pc-sampling` on the mock driver: the profile has each sample of the mock, with its launch, source
line and reason. test/mocks/cupti/mock_cupti_sampling.h says which samples the mock takes."""

import collections
import json
import os
import signal
import subprocess

import rig
from record_test import APP, MOCKS

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
DURATIONS = {"assemble": 4000, "solve": 16000}
PERIOD = 64

# Disassembly of both kernels as nvdisasm prints it. The mock samples at 0x10 and 0x90.
DISASSEMBLY = """#!/bin/sh
for name in _Z8assemblePfi _Z5solvePfi; do
  printf '\\t.section\\t.text.%s,"ax",@progbits\\n' $name
  printf '        /*0000*/                   LDG.E.64 R2, [R4.64] ;\\n'
  printf '        /*0010*/                   LDG.E R0, [R2.64] ;\\n'
  printf '        /*0090*/                   EXIT ;\\n'
done
"""


def samples_of(name, period=PERIOD):
    return DURATIONS[name] * 2 // period


class PcSampling(rig.RuntimeTest):
    def environment(self, faults="", **extra):
        return {**os.environ, "LD_LIBRARY_PATH": MOCKS, "MOCK_CUPTI_FAULTS": faults,
                "MOCK_CUBIN": os.path.join(DATA, "kernels.cubin"), **extra}

    def sample(self, *arguments, faults="", options=(), period=PERIOD, **extra):
        """Returns (profile, what the app printed, stderr)."""
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--pc-sampling", "--sampling-period",
                                str(period), *options, "--", APP, *arguments], env=self.environment(faults, **extra))
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertEqual(run.returncode, 0, stderr)
        return rig.Profile(self.profile_path), json.loads(run.stdout), stderr

    def taken(self, did):
        return {name: sum(op["count"] for kernel, op in did["ops"].items() if name in kernel) * samples_of(name)
                for name in DURATIONS}

    def by_kernel(self, profile):
        counts = collections.Counter()
        for row in profile.of("EUSTALL"):
            name = profile.works[row[1]].name
            counts[next(kernel for kernel in DURATIONS if kernel in name)] += int(row[5])
        return counts

    def assert_all_there(self, profile, did, stderr):
        self.assertEqual(self.by_kernel(profile), self.taken(did), stderr)
        self.assertEqual(profile.end()["samples"], sum(self.taken(did).values()))
        self.assertNotIn("samples_dropped", profile.losses())
        self.assertNotIn("samples_without_launch", profile.coverage())
        self.assertEqual(sum(row[4] for row in profile.gpu()), did["total_ns"], stderr)
        self.assertEqual(profile.end()["launches"], did["launches"])
        self.assert_conserved(profile)
        self.assert_leaves_conserve(did)

    def assert_leaves_conserve(self, did):
        """Checks that with each --leaf the frames below a kernel sum up to the kernel's time in ns."""
        def by_kernel(leaf):
            sums = collections.Counter()
            for frames, ns in self.folded("--leaf", leaf):
                kernel = next((name for frame in frames for name in DURATIONS if f"{name}(" in frame and "_[G]" in frame), "")
                sums[kernel] += ns
            return sums
        whole = by_kernel("kernel")
        self.assertEqual(sum(whole.values()), did["total_ns"])
        for leaf in ("function", "line", "instruction", "stall"):
            self.assertEqual(by_kernel(leaf), whole, leaf)

    def test_all_samples_belong_to_their_kernels(self):
        for arguments in (("--kernels-only",), ("--driver-api", "--kernels-only"), ("--graph", "50"), ("--threads", "4"),
                          ("--fork",)):
            with self.subTest(arguments=arguments):
                self.assert_all_there(*self.sample("--launches", "200", *arguments))

    def test_flame_shows_each_line_and_reason(self):
        profile, did, _ = self.sample("--launches", "100", "--kernels-only")
        files = collections.defaultdict(int)
        for frames, count in rig.parse_folded(self.gpuprof("flame", "-i", self.profile_path, "--weight", "samples", "--leaf",
                                                            "line")):
            if any("kernels.cu:" in frame for frame in frames):
                files[next(name for name in DURATIONS if any(f"{name}(" in frame for frame in frames))] += count
        self.assertEqual(files, self.taken(did))
        reasons = collections.Counter()
        text = profile.strings()
        for row in profile.of("EUSTALL"):
            reasons[text[row[3]]] += int(row[5])
        self.assertEqual(set(reasons), {"long_scoreboard", "barrier", "selected"})
        for name in DURATIONS:
            self.assertGreater(files[name], 0)
        self.assertEqual([(int(row[1]), text[row[2]]) for row in profile.of("SAMPLING")], [(PERIOD, "cycles")])
        modules = {(text[row[1]], len(text[row[2]])) for row in profile.of("GPU_MODULE")}
        self.assertEqual(modules, {("sm_90.cubin", 32)})
        listing = self.gpuprof("annotate", "-i", self.profile_path)
        self.assertIn("/source/kernels.cu", listing)

    def test_samples_are_apportioned_among_call_paths_by_time(self):
        profile, did, stderr = self.sample("--launches", "600", "--kernels-only")
        times, samples = collections.Counter(), collections.Counter()
        for row in profile.of("GPU"):
            times[row[1]] += int(row[3])
        for row in profile.of("EUSTALL"):
            samples[row[1]] += int(row[5])
        self.assertEqual(set(times), set(samples), stderr)
        for work, ns in times.items():
            name = profile.works[work].name
            kernel = next(one for one in DURATIONS if one in name)
            expected = ns / DURATIONS[kernel] * samples_of(kernel)
            self.assertAlmostEqual(samples[work], expected, delta=max(5, 0.01 * expected))
        del did

    def test_instructions_are_shown_if_nvdisasm_is_installed(self):
        tools = os.path.join(self.folder, "tools")
        os.mkdir(tools)
        with open(os.path.join(tools, "nvdisasm"), "w", encoding="utf-8") as file:
            file.write(DISASSEMBLY)
        os.chmod(file.name, 0o755)
        os.chmod(self.folder, 0o755)
        profile, _, stderr = self.sample("--launches", "100", "--kernels-only", PATH=f"{tools}:{os.environ['PATH']}")
        text = profile.strings()
        told = collections.Counter((text[row[1]], text.get(row[3], "")) for row in profile.of("GPU_INSTRUCTION"))
        self.assertEqual(told, {("LDG.E R0, [R2.64]", "load"): 2, ("EXIT", ""): 2}, stderr)
        self.assertIn("LDG.E R0, [R2.64]", self.gpuprof("flame", "-i", self.profile_path, "--leaf", "instruction"))
        report = json.loads(self.gpuprof("report", "--json", "-i", self.profile_path))
        waits = [wait for kernel in report["stalls"] for wait in kernel["waits"]]
        self.assertEqual({wait["what"] for wait in waits}, {"load"})
        self.assertEqual({os.path.basename(wait["awaited_file"]) for wait in waits}, {"kernels.cu"})
        merged = os.path.join(self.folder, "merged.txt")
        self.gpuprof("merge", self.profile_path, self.another_recording(), "-o", merged)
        self.assertEqual(len(rig.Profile(merged).of("GPU_INSTRUCTION")), 4)

    def test_too_many_dropped_samples_give_no_stall_reasons(self):
        profile, did, stderr = self.sample("--launches", "200", "--kernels-only", faults="sampling_dropped=10")
        dropped = profile.losses()["samples_dropped"]
        self.assertEqual(profile.end()["samples"] + dropped, sum(self.taken(did).values()), stderr)
        self.assertGreater(dropped, 0)
        report = self.gpuprof("report", "-i", self.profile_path)
        self.assertNotIn("long_scoreboard", report)

    def test_foreign_samples_are_reported_separately(self):
        profile, did, _ = self.sample("--launches", "200")
        fills = did["ops"].get("fill", {"count": 0})["count"]
        self.assertGreater(fills, 0)
        self.assertGreater(profile.coverage()["samples_foreign"], 0)
        self.assertEqual(profile.coverage()["samples_foreign"] % fills, 0)

    def exact(self, *arguments, options=(), **extra):
        """Like sample(), with --pc-sampling=exact. Gaps between launches let the recorder choose kernels."""
        return self.sample("--kernels-only", "--gap-us", "200", *arguments,
                           options=["--pc-sampling=exact", "--max-overhead", "100", *options], **extra)

    def told_of_exact(self, profile):
        return {key.rsplit(".", 1)[1]: sum(int(value) for value in values) for key, values in profile.meta().items()
                if ".sampling.exact_" in key}

    def test_single_launches_have_their_own_samples(self):
        profile, did, stderr = self.exact("--launches", "2000")
        told = self.told_of_exact(profile)
        self.assertEqual(told["exact_launches"] + told["exact_launches_missed"], did["launches"])
        # No launches are missed except those that are made while samples are read.
        self.assertLess(told["exact_launches_missed"], 0.01 * did["launches"])
        # Flag 0: each sample belongs to a known launch, and is not estimated.
        self.assertEqual({row[6] for row in profile.of("EUSTALL")}, {"0"})
        # Each launch of a kernel has the same number of samples.
        counts, samples = collections.Counter(), collections.Counter()
        for row in profile.of("GPU"):
            counts[row[1]] += int(row[2])
        for row in profile.of("EUSTALL"):
            samples[row[1]] += int(row[5])
        missing = 0
        for work, count in counts.items():
            kernel = next(one for one in DURATIONS if one in profile.works[work].name)
            self.assertEqual(samples[work] % samples_of(kernel), 0, stderr)
            missing += count - samples[work] // samples_of(kernel)
        self.assertEqual(missing, told["exact_launches_missed"])
        self.assert_conserved(profile)
        self.assert_leaves_conserve(did)

    def test_kernels_are_chosen_by_their_demangled_names(self):
        profile, did, stderr = self.exact("--launches", "2000", options=["--kernel", "^solve\\("])
        samples = self.by_kernel(profile)
        self.assertEqual(set(samples), {"solve"}, stderr)
        launches = self.told_of_exact(profile)["exact_launches"]
        self.assertEqual(samples["solve"], launches * samples_of("solve"))
        # No launch of solve() is left out: the first one waits until the recorder has decided whether to sample this kernel.
        missed = self.told_of_exact(profile)["exact_launches_missed"]
        self.assertEqual(launches + missed, sum(op["count"] for name, op in did["ops"].items() if "solve" in name))

    def test_sample_every_chooses_one_of_n_launches(self):
        profile, did, _ = self.exact("--launches", "1000", options=["--sample-every", "10"])
        ops = [op["count"] for op in did["ops"].values()]
        told = self.told_of_exact(profile)
        self.assertEqual(told["exact_launches"] + told["exact_launches_missed"], sum(-(-count // 10) for count in ops))

    def test_exact_sampling_stays_within_its_overhead_limit(self):
        profile, did, _ = self.sample("--kernels-only", "--launches", "20000",
                                      options=["--pc-sampling=exact", "--max-overhead", "0.1"])
        told = self.told_of_exact(profile)
        self.assertEqual(told["exact_launches"] + told["exact_launches_missed"] + told["exact_launches_too_dear"],
                         did["launches"])
        self.assertGreater(told["exact_launches_too_dear"], 0)
        self.assertGreater(told["exact_launches"], 0)

    def test_no_launch_is_sampled_while_a_graph_is_captured(self):
        # The mock aborts a program that samples while a graph is captured.
        profile, did, stderr = self.exact("--graph-nodes", "50", "--launches", "200")
        self.assertGreater(did["captured"], 0)
        self.assertEqual(profile.end()["samples"], self.told_samples(profile), stderr)

    def told_samples(self, profile):
        return sum(int(row[5]) for row in profile.of("EUSTALL"))

    def test_several_threads_can_sample_at_once(self):
        profile, did, stderr = self.exact("--threads", "4", "--launches", "500")
        self.assertEqual(profile.end()["samples"], self.told_samples(profile), stderr)
        self.assertGreater(profile.end()["samples"], 0)
        self.assertNotIn("samples_without_launch", profile.coverage())
        self.assertEqual(profile.end()["launches"], did["launches"])

    def test_a_cupti_without_correlation_ids_in_samples_is_refused(self):
        profile, did, stderr = self.sample("--launches", "50", faults="old_version=21", options=["--pc-sampling=exact"])
        self.assertIn("CUDA 12.4 or later", stderr)
        self.assertEqual(profile.of("EUSTALL"), [])
        self.assertEqual(sum(row[4] for row in profile.gpu()), did["total_ns"])

    def test_recording_goes_on_with_a_reason_if_cupti_refuses_sampling(self):
        profile, did, stderr = self.sample("--launches", "50", faults="refuse_sampling=35")
        self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", stderr)
        self.assertIn("no samples were taken", stderr)
        self.assertEqual(profile.of("EUSTALL"), [])
        self.assertEqual(sum(row[4] for row in profile.gpu()), did["total_ns"])

    def test_a_killed_target_keeps_its_samples(self):
        with subprocess.Popen([rig.GPUPROF, "record", "-o", self.profile_path, "--pc-sampling", "--sampling-period",
                               str(PERIOD), "--", APP, "--launches", "1000000", "--gap-us", "1000", "--kernels-only"],
                              env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as recorder:
            self.assertTrue(rig.wait_for(lambda: rig.has_line(self.profile_path, "EUSTALL")))
            children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(recorder.pid)], stdout=subprocess.PIPE,
                                      check=True, text=True).stdout.split()
            os.kill(int(children[0]), signal.SIGKILL)
            recorder.wait(60)
        profile = rig.Profile(self.profile_path)
        self.assertGreater(profile.end()["samples"], 0)
        self.assertEqual(profile.end()["samples"], sum(int(row[5]) for row in profile.of("EUSTALL")))

    def test_contradictory_options_are_usage_errors(self):
        for options in (["--sampling-period", "64"], ["--pc-sampling", "--sampling-period", "65"],
                        ["--pc-sampling", "--sampling-period", "16"], ["--pc-sampling", "--nvtx-range", "x"],
                        ["--stalls", "--graphs", "whole"], ["--pc-sampling=some"], ["--kernel", "x"],
                        ["--pc-sampling", "--sample-every", "2"], ["--pc-sampling=exact", "--sample-every", "0"],
                        ["--pc-sampling=exact", "--kernel", "("], ["--pc-sampling=exact", "--kernel", ""]):
            with self.subTest(options=options):
                run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, *options, "--", "true"])
                self.assertEqual(run.returncode, 2)
                self.assertIn(b"hint:", run.stderr)
                self.assertFalse(os.path.exists(self.profile_path))


if __name__ == "__main__":
    rig.main()
