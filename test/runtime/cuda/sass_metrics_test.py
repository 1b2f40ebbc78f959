#!/usr/bin/env python3
"""Tests `gpuprof record --sass-metrics` on the mock driver: the profile has each count once, at its instruction and source
line. test/mocks/cupti/mock_cupti_sass.h says what the mock counts per launch."""

import collections
import json
import os
import subprocess

import rig
from pc_sampling_test import DATA
from record_test import APP, MOCKS

KERNELS = ("assemble", "solve")
OF_A_LAUNCH = {"smsp__sass_inst_executed": 16, "smsp__sass_thread_inst_executed": 384,
               "smsp__sass_sectors_mem_global": 256, "smsp__sass_sectors_mem_global_ideal": 32}


class SassMetrics(rig.RuntimeTest):
    def environment(self, faults="", **extra):
        return {**os.environ, "LD_LIBRARY_PATH": MOCKS, "MOCK_CUPTI_FAULTS": faults,
                "MOCK_CUBIN": os.path.join(DATA, "kernels.cubin"), **extra}

    def count(self, *arguments, metrics="memory,instructions", options=(), faults=""):
        """Returns (profile, what the app printed, stderr)."""
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--sass-metrics", metrics, *options, "--",
                                APP, *arguments], env=self.environment(faults))
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertEqual(run.returncode, 0, stderr)
        return rig.Profile(self.profile_path), json.loads(run.stdout), stderr

    def counted(self, profile):
        """Returns {(kernel, metric): value}."""
        text = profile.strings()
        functions = {row[0]: text[row[2]] for row in profile.of("GPU_PLACE")}
        sums = collections.Counter()
        for _, _, place, name, value in profile.of("GPU_COUNT"):
            kernel = next(kernel for kernel in KERNELS if kernel in functions[place])
            sums[kernel, text[name]] += int(value)
        return sums

    def expected(self, did, kernels=KERNELS, metrics=tuple(OF_A_LAUNCH)):
        launches = {kernel: sum(op["count"] for name, op in did["ops"].items() if kernel in name) for kernel in kernels}
        return collections.Counter({(kernel, metric): count * OF_A_LAUNCH[metric] for kernel, count in launches.items()
                                    for metric in metrics if count})

    def test_counts_are_exact(self):
        for arguments in (("--kernels-only",), ("--graph", "50"), ("--threads", "4"), ("--driver-api",), ("--fork",), ("--ending", "reset")):
            with self.subTest(arguments=arguments):
                profile, did, stderr = self.count("--launches", "200", *arguments)
                self.assertEqual(self.counted(profile), self.expected(did), stderr)
                self.assertEqual(profile.of("GPU"), [])  # CUPTI cannot record work while it counts instructions
                self.assertNotIn("details_lost", profile.losses())
                self.assertIn("counts of instructions", stderr)

    def test_counts_over_several_reads_are_exact(self):
        for arguments in (("--launches", "1500"), ("--launches", "1500", "--threads", "3")):
            with self.subTest(arguments=arguments):  # launches wait while counts are read, so no count is lost
                profile, did, stderr = self.count("--gap-us", "1000", "--kernels-only", *arguments)
                self.assertEqual(self.counted(profile), self.expected(did), stderr)

    def test_only_selected_kernels_are_counted(self):
        profile, did, stderr = self.count("--launches", "100", options=["--kernel", "^solve\\("])
        self.assertEqual(self.counted(profile), self.expected(did, kernels=("solve",)), stderr)

    def test_unknown_metrics_are_reported_and_others_counted(self):
        metric = "smsp__sass_inst_executed"
        profile, did, stderr = self.count("--launches", "100", metrics=f"{metric},smsp__sass_of_another_gpu")
        self.assertEqual(self.counted(profile), self.expected(did, metrics=(metric,)), stderr)
        note = "CUPTI has no such metrics for this GPU (GH100, CUPTI error 1): smsp__sass_of_another_gpu"
        self.assertIn([note], [values for key, values in profile.meta().items() if key.endswith(".note.metrics_left_out")])
        self.assertIn(f"reports '{note}", stderr)
        report = " ".join(self.gpuprof("report", "-i", self.profile_path).split())
        self.assertIn(f"note: {note}", report)

    def test_a_gpu_without_any_of_the_metrics_is_the_reason(self):
        profile, _, stderr = self.count("--launches", "20", metrics="branches")
        self.assertIn("no counts: this GPU has none of the requested metrics", stderr)
        self.assertIn("smsp__sass_branch_targets_threads_divergent, smsp__sass_branch_targets_threads_uniform", stderr)
        self.assertNotIn("CUPTI cannot count instructions", stderr)
        self.assertNotIn("launched no GPU work", stderr)
        self.assertIn("--sass-metrics records no GPU times, and counted nothing", stderr)
        self.assertEqual(profile.of("GPU_COUNT"), [])

    def test_report_shows_source_lines_of_counts(self):
        _, did, _ = self.count("--launches", "100", "--kernels-only")
        report = json.loads(self.gpuprof("report", "--json", "-i", self.profile_path))
        tables = {table["metric"]: table for table in report["counted"]}
        self.assertEqual({name: table["kind"] for name, table in tables.items()},
                         {"smsp__sass_sectors_mem_global": "excess", "smsp__sass_thread_inst_executed": "threads"})
        lines = tables["smsp__sass_sectors_mem_global"]["lines"]
        self.assertEqual(sum(line["value"] for line in lines), 8 * sum(line["reference"] for line in lines))
        self.assertEqual({os.path.basename(line["file"]) for line in lines}, {"kernels.cu"})
        text = self.gpuprof("report", "-i", self.profile_path)
        self.assertIn("8.00x", text)
        self.assertIn("kernels.cu:", text)
        self.assertIn("sectors", text)
        report = json.loads(self.gpuprof("report", "--json", "--kernel", "^solve", "-i", self.profile_path))
        self.assertTrue(all("solve" in line["function"] for table in report["counted"] for line in table["lines"]))
        merged = os.path.join(self.folder, "merged.txt")
        self.gpuprof("merge", self.profile_path, self.another_recording(), "-o", merged)
        self.assertEqual(self.counted(rig.Profile(merged)),
                         collections.Counter({key: 2 * value for key, value in self.expected(did).items()}))
        self.assertIn("gpu_count", self.gpuprof("dump", "-i", self.profile_path))

    def test_a_refused_configuration_gives_a_reason_and_no_counts(self):
        profile, _, stderr = self.count("--launches", "20", faults="refuse_counting=35")
        self.assertIn("no counts: ", stderr)
        self.assertIn("nothing was counted", stderr)
        self.assertEqual(profile.of("GPU_COUNT"), [])
        run = subprocess.run([rig.GPUPROF, "report", "-i", self.profile_path], stdin=subprocess.DEVNULL,
                             capture_output=True, check=False)
        self.assertEqual(run.returncode, 4)

    def test_contradictory_options_are_usage_errors(self):
        for options in (["--sass-metrics", "cycles"], ["--sass-metrics", ""], ["--sass-metrics", "memory", "--stalls"],
                        ["--sass-metrics", "memory", "--timeline"], ["--sass-metrics", "smsp__sass_x;y"],
                        ["--sass-metrics", "memory", "--kernel", "("]):
            with self.subTest(options=options):
                run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, *options, "--", "true"])
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertFalse(os.path.exists(self.profile_path))


if __name__ == "__main__":
    rig.main()
