#!/usr/bin/env python3
"""Tests `gpuprof check --runs`, `--self` and `--baseline`, which record programs themselves, on the mock driver."""

import glob
import os
import signal
import subprocess

import rig

APP = os.environ["MOCK_CUDA_APP"]
MOCKS = os.environ["MOCK_CUDA_DIR"]
PASS, REGRESSION, UNUSABLE, INCONCLUSIVE = 0, 1, 2, 125


class CheckRuns(rig.RuntimeTest):
    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, "LD_LIBRARY_PATH": MOCKS}
        self.environment.pop("GITHUB_SHA", None)
        self.environment.pop("CI_COMMIT_SHA", None)
        self.out = os.path.join(self.folder, "out")

    def script(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho {name} >> order\n{text}\n")
        os.chmod(path, 0o755)
        return path

    def app(self, name, launches=200, after=""):
        return self.script(name, f"{APP} --launches $(({launches} + $$ % 3)) --kernels-only\n{after}")

    def exact_app(self, name, launches=200):
        """Returns a program whose runs all cost the same: its kernels take exactly the time that their module names."""
        return self.script(name, f"{APP} --launches {launches} --kernels-only")

    def commits(self, pattern):
        return [rig.Profile(name).meta().get("source.commit") for name in sorted(glob.glob(f"{self.out}/{pattern}"))]

    def check(self, *arguments, expect):
        run = self.run_command([rig.GPUPROF, "check", *arguments], env=self.environment, timeout=280)
        out, err = run.stdout.decode(), run.stderr.decode()
        self.assertEqual(run.returncode, expect, f"{arguments}\n{out}\n{err}")
        return " ".join(out.split()), err

    def order(self):
        with open(os.path.join(self.folder, "order"), encoding="utf-8") as file:
            return file.read().split()

    def test_runs_of_both_sides_alternate(self):
        out, err = self.check("--runs", "3", "-o", self.out, "--", self.app("a"), "---", self.app("b", 400),
                              expect=REGRESSION)
        self.assertEqual(self.order(), "a b b a a b b a".split())
        self.assertIn("run 8 of 8, new-3: ", err.replace("old-3", "new-3"))
        self.assertIn(f"the profiles are in {self.out}", err)
        names = sorted(os.path.basename(name) for name in glob.glob(f"{self.out}/*.txt"))
        self.assertEqual(names, [f"{side}-{i}.txt" for side in ("new", "old") for i in (1, 2, 3)])
        self.assertNotIn("{", out)  # the output of check does not contain the programs' output
        with open(f"{self.out}/new-1.log", encoding="utf-8") as file:
            self.assertIn("total_ns", file.read())  # the program's output is in a .log file beside the profile

    def test_the_same_program_passes(self):
        out, _ = self.check("--runs", "3", "-o", self.out, "--", self.exact_app("a"), "---", self.exact_app("b"),
                            expect=PASS)
        self.assertIn("PASS", out)
        totals = {rig.Profile(name).end()["gpu_ns"] for name in glob.glob(f"{self.out}/*.txt")}
        self.assertEqual(len(totals), 1, "the runs differ: nothing exact is tested here")

    def test_too_few_runs_are_refused_before_anything_is_recorded(self):
        for arguments in (["--runs", "1"], ["--runs", "2"], ["--self", "3"],
                          ["--runs", "2", "--baseline", os.path.join(self.folder, "kept"), "--save"]):
            with self.subTest(arguments=arguments):
                one = "--self" in arguments or "--baseline" in arguments
                words = [self.app("a")] if one else [self.app("a"), "---", self.app("b")]
                out, err = self.check(*arguments, "-o", self.out, "--", *words, expect=UNUSABLE)
                self.assertEqual(out, "")
                self.assertRegex(err, "(1 run is|2 runs are|3 runs are) too few: (a verdict needs at least 3|--self needs at least 4)")
                self.assertFalse(os.path.exists(self.out))
                self.assertFalse(os.path.exists(os.path.join(self.folder, "order")))

    def test_the_profiles_of_each_side_hold_the_commit_of_their_program(self):
        sides = ["--runs", "3", "--warmup", "0", "-o", self.out]
        programs = ["--", self.exact_app("a"), "---", self.exact_app("b")]
        self.environment["GITHUB_SHA"] = "of-the-machine"
        self.check(*sides, "--old-commit", "one", "--commit", "two", *programs, expect=PASS)
        self.assertEqual(self.commits("old-*.txt"), [["one"]] * 3)
        self.assertEqual(self.commits("new-*.txt"), [["two"]] * 3)
        # Without --old-commit and --commit, only the new side has a commit: that of GITHUB_SHA.
        self.check(*sides, *programs, expect=PASS)
        self.assertEqual(self.commits("old-*.txt"), [None] * 3)
        self.assertEqual(self.commits("new-*.txt"), [["of-the-machine"]] * 3)
        self.check("--self", "4", "--warmup", "0", "-o", self.out, "--commit", "none", "--", self.exact_app("a"),
                   expect=PASS)
        self.assertEqual(self.commits("run-*.txt"), [None] * 4)

    def test_a_failed_run_gives_no_verdict(self):
        failing = self.app("b", 400, "test $(grep -c b order) != 3 || exit 3")
        out, _ = self.check("--runs", "3", "-o", self.out, "--", self.app("a"), "---", failing, expect=INCONCLUSIVE)
        self.assertRegex(out, "new-2 failed with exit status 3")
        self.assertEqual(len(self.order()), 8)

    def test_a_program_that_always_fails_runs_once(self):
        for text, saying in (("exit 7", "exit status 7"), ("kill -9 $$", "signal 9")):
            with self.subTest(text=text):
                out, _ = self.check("--runs", "5", "-o", self.out, "--", self.script("a", text), "---", self.app("b"),
                                    expect=INCONCLUSIVE)
                self.assertIn(saying, out)
        self.assertLessEqual(len(self.order()), 4)
        out, _ = self.check("--runs", "5", "-o", self.out, "--", "./nonexistent", "---", self.app("b"),
                            expect=INCONCLUSIVE)
        self.assertIn("exit status 127", out)

    def test_runs_without_gpu_work_are_inconclusive(self):
        out, _ = self.check("--runs", "3", "--warmup", "0", "-o", self.out, "--", self.app("a"), "---", "true",
                            expect=INCONCLUSIVE)
        self.assertIn("no GPU work", out)

    def test_self_measures_the_noise_of_one_program(self):
        report = f"{self.out}/check.md"  # in a folder that does not exist yet
        out, _ = self.check("--self", "4", "-o", self.out, "--markdown", report, "--", self.app("a"), expect=PASS)
        self.assertTrue(os.path.exists(report))
        self.assertIn("%", out)
        self.assertEqual(len(self.order()), 5)

    def test_a_budget_can_be_checked_on_recorded_runs(self):
        _, err = self.check("--function", "solve", "--max", "1h", "--runs", "1", "-o", self.out, "--", self.app("a"),
                            expect=PASS)
        self.assertIn(f"the profiles are in {self.out}", err)
        self.check("--function", "solve", "--max", "1ns", "--runs", "2", "-o", self.out, "--", self.app("a"),
                   expect=REGRESSION)

    def test_record_options_reach_the_recorder(self):
        self.check("--self", "4", "--warmup", "0", "--record=--stacks=none", "-o", self.out, "--", self.app("a"),
                   expect=PASS)
        self.assertEqual(rig.Profile(f"{self.out}/run-1.txt").meta()["stack_engine"], ["none"])

    def test_options_that_the_recorder_rejects_are_wrong_usage(self):
        for warmup in ("0", "1"):
            out, err = self.check("--self", "4", "--warmup", warmup, "--record=--bogus", "-o", self.out, "--",
                                  self.app("a"), expect=UNUSABLE)
            self.assertEqual(out, "")
            self.assertIn("gpuprof record rejects its options", err)
            self.assertFalse(os.path.exists(os.path.join(self.folder, "order")))
        # A program that exits with 2 has failed, and the usage was right.
        out, _ = self.check("--self", "4", "-o", self.out, "--", self.script("b", "exit 2"), expect=INCONCLUSIVE)
        self.assertIn("exit status 2", out)

    def test_runs_of_an_earlier_check_are_not_mixed_with_new_ones(self):
        os.mkdir(self.out, mode=0o755)
        open(f"{self.out}/run-5.txt", "w", encoding="utf-8").close()
        _, err = self.check("--self", "4", "-o", self.out, "--", self.app("a"), expect=UNUSABLE)
        self.assertRegex(err, "run-5.txt is a run of an earlier check")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "order")))

    def test_saved_baselines_are_compared_by_commit(self):
        kept = os.path.join(self.folder, "kept")
        arguments = ["--baseline", kept, "--save", "--runs", "4", "-o", self.out]
        out, err = self.check(*arguments, "--commit", "first", "--", self.app("a"), expect=INCONCLUSIVE)
        self.assertIn("nothing was compared", out)
        self.assertIn("kept as a baseline for later commits: ", err)
        folders = glob.glob(f"{kept}/*/*-first")
        self.assertEqual(len(folders), 1)
        self.assertEqual(len(os.listdir(folders[0])), 4)
        # A commit is not compared with itself. Without --save no profile is kept.
        self.check("--baseline", kept, "--commit", "first", "--runs", "3", "-o", f"{self.out}-2", "--", self.app("a"),
                   expect=INCONCLUSIVE)
        self.assertEqual(glob.glob(f"{kept}/*/*"), folders)
        # A slower commit is a regression, and its profiles are not kept.
        _, err = self.check(*arguments, "--commit", "second", "--", self.app("b", 400), expect=REGRESSION)
        self.assertIn("not kept as a baseline, because these runs did not pass", err)
        self.assertIn("the baseline is commit first", err)
        self.assertEqual(glob.glob(f"{kept}/*/*"), folders)
        # The new side can be recorded profiles instead of a command. If the new commit is "st", commit "first" is still
        # the baseline, although its name ends with "st".
        self.check("--baseline", kept, *sorted(glob.glob(f"{self.out}/new-*.txt")), expect=REGRESSION)
        self.check("--baseline", kept, "--commit", "st", *sorted(glob.glob(f"{self.out}/new-*.txt")), expect=REGRESSION)

    def test_a_signal_ends_the_check(self):
        slow = self.script("slow", f"{APP} --launches 10 --kernels-only; exec sleep 60")
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number):
                check = subprocess.Popen([rig.GPUPROF, "check", "--runs", "3", "-o", self.out, "--", slow, "---", slow],
                                         cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                before = os.path.join(self.folder, "order")
                self.assertTrue(rig.wait_for(lambda: os.path.exists(before)))
                rig.time.sleep(0.3)
                check.send_signal(number)
                out, err = check.communicate(timeout=30)
                self.assertEqual(check.returncode, 128 + number, err)
                self.assertEqual(out, b"")
                self.assertIn(b"stopped by signal", err)
                os.remove(before)

    def test_a_folder_that_cannot_be_made_is_an_error(self):
        name = os.path.join(self.folder, "file")
        with open(name, "wb"):
            pass
        _, err = self.check("--baseline", f"{name}/kept", "--save", "--runs", "3", "-o", self.out, "--", self.app("a"),
                            expect=UNUSABLE)
        self.assertIn("cannot keep profiles in", err)
        self.assertFalse(os.path.exists(self.out))
        _, err = self.check("--self", "4", "-o", "/nonexistent/folder", "--", self.app("a"), expect=UNUSABLE)
        self.assertIn("/nonexistent/folder", err)


if __name__ == "__main__":
    rig.main()
