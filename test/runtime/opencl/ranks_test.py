#!/usr/bin/env python3
"""Tests a job of 4 ranks that synchronize after each step: `ranks` names the slow rank, or none if all are equal."""

import glob
import json
import os
import re
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

import rig

sys.path.insert(0, os.path.join(rig.SOURCE, "test/bench"))
import ranks_found  # noqa: E402

JOB = os.path.abspath(os.environ.get("GPUPROF_RANKS_EXAMPLE", "build/examples/opencl/example_opencl_ranks"))
NCCL_JOB = os.path.abspath(os.environ.get("GPUPROF_CUDA_RANKS_EXAMPLE", "build/examples/cuda/example_cuda_ranks"))
STEPS = 200
# A busy machine can delay any rank. If no rank is named, the run is repeated; a wrong name is a failure.
ATTEMPTS = 4


class Ranks(rig.RuntimeTest):
    def job(self, *options):
        """Returns (output of ranks --json, stdout of the job, the named ranks that were slow by the job's own clock)."""
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--interval", "100ms", "--", JOB, "--steps",
                                str(STEPS), "--work", "500000", *options])
        self.assertEqual(run.returncode, 0, run.stderr)
        answer = json.loads(self.gpuprof("ranks", "--json", self.profile_path, expect=(0, 1, 125)))
        said = run.stdout.decode()
        return answer, said, ranks_found.slow_by_own_clock(said, self.start_ns(), answer)

    def start_ns(self):
        return int(rig.Profile(self.profile_path).meta()["start_ns"][0])

    @rig.requires("opencl")
    def test_ranks_names_the_slow_rank_its_kernel_path_and_start(self):
        for rank in ("1", "3"):
            for _ in range(ATTEMPTS):
                answer, said, slow = self.job("--slow-rank", rank, "--slow-from", "70", "--factor", "1000")
                named = [one["rank"] for one in answer["laggards"]]
                self.assertLessEqual(set(named), {rank} | slow, answer["text"])
                if named == [rank]:
                    break
            else:
                self.skipTest("the machine is too busy to find a rank with ten times the work")
            lag = answer["laggards"][0]
            self.assertEqual((lag["cause"], lag["waited_for"], lag["to_the_end"]), ("gpu", True, True))
            self.assertEqual(lag["kernels"][0]["name"], "relax")
            self.assertIn("smooth", json.dumps(lag["kernels"][0]["path"]))
            began = int(re.search(r"is slow from (\d+) on$", said, re.M).group(1)) - self.start_ns()
            self.assertLess(abs(lag["since_ns"] - began), 4 * answer["block_ns"])
            self.assertLessEqual(lag["since_earliest_ns"], lag["since_ns"])
            self.assertGreaterEqual(lag["since_latest_ns"], lag["since_ns"])
            self.assertIn(f"Rank {rank} lags since", self.gpuprof("ranks", self.profile_path, expect=(1,)))
            picture = self.gpuprof("ranks", "--svg", "-", self.profile_path, expect=(1,))
            self.assertEqual(picture.count('class="gp-lag"'), 1)

    @rig.requires("opencl")
    def test_ranks_names_no_rank_of_an_even_job(self):
        texts = []
        for _ in range(ATTEMPTS):
            answer, _, slow = self.job()
            # `ranks` may blame GPU work of a rank only if the rank was slow by the job's own clock.
            blamed = {one["rank"] for one in answer["laggards"] if one["cause"] == "gpu"}
            self.assertLessEqual(blamed, slow, answer["text"])
            if not answer["laggards"]:
                return
            texts.append(answer["text"])
        self.fail("each even run named a rank: " + "; ".join(texts))


    def late_rank(self, fetch, attempts):
        """Runs jobs of two ranks: one rank is late. Returns (late rank, verdict) of each job."""
        texts = []
        for attempt in range(attempts):
            run = self.run_command([rig.GPUPROF, "record", "--cpu", "-o", self.profile_path, "--interval", "100ms", "--", JOB,
                                    "--ranks", "2", "--steps", str(STEPS), "--work", "200000", "--slow-rank",
                                    str(attempt % 2), "--fetch", fetch])
            self.assertEqual(run.returncode, 0, run.stderr)
            answer = json.loads(self.gpuprof("ranks", "--json", self.profile_path, expect=(0, 1, 125)))
            texts.append((attempt % 2, answer["text"]))
        return texts

    @rig.requires("opencl")
    def test_ranks_names_the_function_in_which_a_late_rank_computes(self):
        for rank, text in self.late_rank("compute", 2):
            self.assertRegex(text, rf"^Rank {rank} lags .* its CPU is late: (no processor, )?on CPU in "
                                   r"fetch_batch \(\S*ranks.cpp:\d+\)(, no processor)?\.$")

    @rig.requires("opencl")
    def test_ranks_says_that_a_late_rank_sleeps(self):
        for rank, text in self.late_rank("sleep", 2):
            self.assertRegex(text, rf"^Rank {rank} lags .* its CPU is late: sleeps(, no processor)?\.$")


class NcclRanks(rig.RuntimeTest):
    """Tests `ranks` on two GPUs with NCCL, with the script of the benchmark."""

    def test_the_slow_rank_is_named_and_no_other(self):
        gpus = len(glob.glob("/dev/nvidia[0-9]*"))
        if not os.access(NCCL_JOB, os.X_OK):
            self.skipTest(f"there is no {NCCL_JOB}: nvcc builds it")
        if gpus < 2:
            self.skipTest(f"two NVIDIA GPUs are needed, and there are {gpus}")
        run = self.run_command([sys.executable, os.path.join(rig.SOURCE, "test/bench/ranks_found.py"), rig.GPUPROF, NCCL_JOB,
                                "--job", "cuda", "--runs", "2"])
        if run.returncode == 77:
            self.skipTest(run.stdout.decode())
        self.assertEqual(run.returncode, 0, (run.stdout + run.stderr).decode())


class Inputs(rig.RuntimeTest):
    RANK = "GPUPROF;3.0\nMETA;interval_ns;100\nMETA;host;n{0}\nSTRING;1;app\nSTRING;2;{0}\nSTRING;3;work\n" \
           "PROCESS;1;{0};1;1;1;0;2;0\nWORK;1;1;0;0;0;0;0;0;0;0;kernel;3;0\n{1}END;9;12;12;{2};0;0;0\n"

    def write(self, name, rank, ns):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        rows = "".join(f"GPU;{slice_};1;1;{ns};{ns};{ns};{ns * ns};0;0\n" for slice_ in range(12))
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.RANK.format(rank, rows, 12 * ns))

    def failing(self, *arguments):
        run = self.run_command([rig.GPUPROF, *arguments])
        return run.returncode, run.stderr.decode()

    def test_a_folder_or_a_pattern_selects_its_profiles(self):
        for rank in range(3):
            self.write(f"run/r{rank}.txt", rank, 50 + 40 * (rank == 2))
        with open(os.path.join(self.folder, "run/notes.md"), "w", encoding="utf-8") as file:
            file.write("not a profile\n")
        self.write("run/r0.txt.old", 9, 50)
        for source in (["run"], ["run/r?.txt"], ["run/r0.txt", "run/r*.txt"]):
            run = self.run_command([rig.GPUPROF, "ranks", "--json", *source])
            self.assertEqual(run.returncode, 1, run.stderr)
            answer = json.loads(run.stdout)
            self.assertEqual([one["rank"] for one in answer["ranks"]], ["0", "1", "2"])
            self.assertEqual([(one["rank"], one["waited_for"]) for one in answer["laggards"]], [("2", False)])
            if jsonschema:
                with open(os.path.join(rig.SOURCE, "docs/schema/ranks.json"), encoding="utf-8") as schema:
                    jsonschema.Draft202012Validator(json.load(schema)).validate(answer)
            self.assertEqual(b"notes.md" in run.stderr, source == ["run"])
        self.gpuprof("merge", "run", "-o", "all.txt")
        self.assertEqual(rig.Profile(os.path.join(self.folder, "all.txt")).end()["gpu_ns"], 12 * 190)

    def test_more_profiles_than_open_files_can_be_read(self):
        for rank in range(70):
            self.write(f"run/r{rank:03}.txt", rank, 50)
        self.gpuprof("merge", "run", "-o", "all.txt")
        self.assertEqual(rig.Profile(os.path.join(self.folder, "all.txt")).end()["gpu_ns"], 70 * 12 * 50)
        self.gpuprof("ranks", "run")

    def test_missing_ranks_and_slices_are_reported(self):
        os.mkdir(os.path.join(self.folder, "empty"))
        self.write("one.txt", 1, 50)
        with open(os.path.join(self.folder, "one.txt"), encoding="utf-8") as file:
            text = file.read()
        for name, old, new in (("no_rank.txt", "1;0;2;0", "1;0;0;0"), ("no_slices.txt", "META;interval_ns;100\n", "")):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text.replace(old, new))
        self.write("two.txt", 2, 50)
        for files, message in ((["empty"], "no profile in the folder"), (["none-*"], "no file matches"),
                               (["one.txt"], "only one rank"), (["no_rank.txt"], "--by pid"), (["-", "-"], "more than once")):
            status, stderr = self.failing("ranks", *files)
            self.assertEqual(status, 2, stderr)
            self.assertIn(message, stderr)
        status, stderr = self.failing("merge", "all-*.txt", "-o", "all.txt")
        self.assertEqual(status, 2, stderr)


if __name__ == "__main__":
    rig.main()
