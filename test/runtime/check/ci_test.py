#!/usr/bin/env python3
"""Tests examples/ci: the CI files are well-formed, and their scripts find a planted regression and nothing else."""

import glob
import os
import re
import signal
import subprocess
import unittest

import rig

FOLDER = os.path.join(rig.SOURCE, "examples/ci")
SCRIPT = os.path.join(FOLDER, "perf-gate.sh")
PASS, REGRESSION, UNUSABLE, INCONCLUSIVE = 0, 1, 2, 125
on_the_mock_driver = unittest.skipUnless("MOCK_CUDA_APP" in os.environ, "no mock driver: built without cuda.h")


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def yaml_of(name):
    import yaml
    return yaml.safe_load(read(name))


class Ci(rig.RuntimeTest):
    def setUp(self):
        super().setUp()
        programs = os.path.join(self.folder, "bin")
        os.mkdir(programs)
        os.symlink(rig.GPUPROF, os.path.join(programs, "gpuprof"))
        self.repository = os.path.join(self.folder, "repository")
        self.temporary = os.path.join(self.folder, "temporary")
        os.mkdir(self.temporary)
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "RUNS": "5",
                            "TMPDIR": self.temporary, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        for name in ("GPUPROF", "GITHUB_ACTIONS", "GITHUB_SHA", "CI_COMMIT_SHA"):
            self.environment.pop(name, None)

    def sh(self, *command, expect=(0,), timeout=280):
        run = subprocess.run(command, cwd=self.repository, env=self.environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False)
        self.assertIn(run.returncode, expect, f"{command}\n{run.stdout}")
        return run

    def program(self, percent):
        return f'{rig.EXAMPLE} --launches 150 --slow-site solve --percent {percent} "$@"'

    def commit(self, percent, note=""):
        """Commits a program that does `percent` of the usual work below solve(). None makes a commit that cannot be built."""
        build = "cp app.in app && chmod +x app" if percent else "exit 1"
        for name, text in (("app.in", f"#!/bin/sh\n# {note}\nexec {self.program(percent)}\n"),
                           ("Makefile", f".PHONY: app\napp:\n\t@{build}\n"),
                           (".gitignore", "app\napp.good\ngpuprof-*\n")):
            with open(os.path.join(self.repository, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.sh("git", "add", "-A")
        self.sh("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m",
                f"{note} {percent}")

    def make_repository(self, *percents):
        os.mkdir(self.repository)
        self.sh("git", "init", "-q")
        for number, percent in enumerate(percents):
            self.commit(percent, f"commit {number}")

    def gate(self, *command, base="HEAD~1", build="make -s", expect):
        out = self.sh("sh", SCRIPT, base, build, *command, expect=expect).stdout
        self.assert_clean()
        return out

    def assert_clean(self):
        """Checks that the script leaves only its results."""
        self.assertEqual(len(self.sh("git", "worktree", "list").stdout.splitlines()), 1)
        self.assertEqual(os.listdir(self.temporary), [])


class OnPocl(Ci):
    """Kernels run on the CPU. On a busy machine, `check` called 1 of about 130 unchanged programs slower, by 107%, which
    is within its error rate. So tests of unchanged programs ignore slowdowns up to 150%. Planted slowdowns are 400%."""

    IGNORED = "--material 150"

    @rig.requires("opencl", "program:git", "program:make")
    def test_the_script_finds_a_planted_regression(self):
        self.make_repository(100, 500)
        out = self.gate("./app", "--steps", "300", expect=(REGRESSION,))
        self.assertIn("heavy", out)
        self.assertIn("solve", out)
        for name in ("gpuprof-check.md", "gpuprof-check.xml", "gpuprof-check/old-5.txt"):
            self.assertTrue(os.path.exists(os.path.join(self.repository, name)), name)

    @rig.requires("opencl", "program:git", "program:make")
    def test_the_script_passes_an_unchanged_program(self):
        self.make_repository(100, 100)
        self.environment["CHECK_OPTIONS"] = self.IGNORED
        self.gate("./app", "--steps", "300", expect=(PASS, INCONCLUSIVE))

    @rig.requires("opencl", "program:git", "program:make")
    def test_git_bisect_finds_the_commit(self):
        (line,) = re.findall(r"^    (git bisect run .*)$", read("README.md"), re.MULTILINE)
        line = line.replace("--min-effect 50", f"--min-effect 300 {self.IGNORED}")
        self.make_repository(100, 100, 100, 500, 500, 500)
        self.sh("git", "checkout", "-q", "HEAD~5")
        self.sh("sh", "-c", "make -s && cp app app.good")
        self.sh("git", "checkout", "-q", "-")
        self.sh("git", "bisect", "start", "HEAD", "HEAD~5")
        run = self.sh("sh", "-c", line, expect=(0, 2))
        # git skips commits whose verdict is inconclusive. All other commits must have the right verdict.
        verdicts = re.findall(r"^# (good|bad): \[\w+\] commit (\d)", self.sh("git", "bisect", "log").stdout, re.MULTILINE)
        self.assertEqual([verdict for verdict, commit in verdicts if (verdict == "bad") != (int(commit) >= 3)], [],
                         run.stdout)
        if run.returncode == 0:
            self.assertRegex(run.stdout, r"is the first bad commit\n(.*\n)*.*commit 3 500")
        else:
            self.assertIn("'skip'ped commits left", run.stdout)


@on_the_mock_driver
class OnTheMockDriver(Ci):
    """Each kernel takes exactly the time that its module names for the mock driver, so each verdict is known."""

    def setUp(self):
        super().setUp()
        self.environment.update(RUNS="3", LD_LIBRARY_PATH=os.environ["MOCK_CUDA_DIR"])

    def program(self, percent):
        return f"{os.environ['MOCK_CUDA_APP']} --kernels-only --launches {percent}"

    @rig.requires("program:git", "program:make")
    def test_an_unchanged_program_passes_and_profiles_hold_their_commit(self):
        self.make_repository(100, 100)
        old, new = (self.sh("git", "rev-parse", name).stdout.strip() for name in ("HEAD~1", "HEAD"))
        for machine in ({}, {"GITHUB_SHA": "0" * 40}):
            self.environment.update(machine)
            self.gate("./app", expect=(PASS,))
            for side, commit in (("old", old), ("new", new)):
                names = glob.glob(os.path.join(self.repository, f"gpuprof-check/{side}-?.txt"))
                self.assertEqual([rig.Profile(name).meta()["source.commit"] for name in names], [[commit]] * 3)

    @rig.requires("program:git", "program:make")
    def test_a_slower_program_is_a_regression(self):
        self.make_repository(100, 120)
        self.gate("./app", expect=(REGRESSION,))

    @rig.requires("program:git", "program:make")
    def test_git_bisect_skips_commits_that_cannot_be_built(self):
        # git bisect tries the middle commit first, which cannot be built.
        self.make_repository(100, 100, 100, None, 100, 120, 120)
        good = self.sh("git", "rev-parse", "HEAD~6").stdout.strip()
        self.sh("git", "bisect", "start", "HEAD", good)
        run = self.sh("git", "bisect", "run", "sh", SCRIPT, good, "make -s", "./app")
        self.assertRegex(run.stdout, r"is the first bad commit\n(.*\n)*.*commit 5 120")
        self.assertRegex(self.sh("git", "bisect", "log").stdout, r"# skip: .*commit 3")
        self.assert_clean()


class WithoutAVerdict(Ci):
    """Tests that exit status 1 means only a regression, and that no files or processes are left behind."""

    @rig.requires("program:git", "program:make")
    def test_a_commit_that_cannot_be_built_is_skipped(self):
        self.make_repository(100, None, 100)
        for base, build, saying in (("HEAD~1", "make -s", "HEAD~1 cannot be built"),
                                    ("HEAD~2", "exit 1", "HEAD~2 cannot be built"),
                                    ("HEAD~2", "test -d .git || exit 0; exit 1", "this work tree cannot be built"),
                                    ("nonexistent", "make -s", "commit nonexistent does not exist")):
            with self.subTest(base=base, build=build):
                self.assertIn(saying, self.gate("./app", base=base, build=build, expect=(INCONCLUSIVE,)))
        self.environment["GPUPROF"] = "/nonexistent/gpuprof"
        self.assertIn("there is no /nonexistent/gpuprof", self.gate("./app", expect=(INCONCLUSIVE,)))
        self.sh("sh", SCRIPT, "HEAD", "make -s", expect=(UNUSABLE,))

    @rig.requires("program:git", "program:make")
    def test_a_signal_ends_the_script(self):
        self.make_repository(100, 100)
        begun = os.path.join(self.folder, "begun")
        wait = f"touch {begun}; exec sleep 60"
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            for build, command in ((wait, ["true"]), ("true", ["sh", "-c", wait])):
                with self.subTest(number=number, build=build):
                    # A shell cannot trap a signal that was ignored when the shell was started.
                    gate = subprocess.Popen(["env", "--default-signal=HUP,INT,TERM", "sh", SCRIPT, "HEAD~1", build, *command], cwd=self.repository,
                                            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL)
                    self.assertTrue(rig.wait_for(lambda: os.path.exists(begun)))
                    os.remove(begun)
                    gate.send_signal(number)
                    self.assertEqual(gate.wait(timeout=40), 128 + number)
                    self.assert_clean()


class Files(unittest.TestCase):
    @rig.requires("program:bash")
    def test_the_ci_files_pass_valid_arguments_to_the_script(self):
        try:
            github, gitlab = yaml_of("github.yml"), yaml_of("gitlab.yml")
        except ImportError:
            self.skipTest("no python3-yaml")
        (job,) = github["jobs"].values()
        self.assertIn("pull_request", github[True])  # YAML 1.1 reads the key `on` as true
        commands = [step["run"] for step in job["steps"] if "run" in step]
        (job,) = gitlab.values()
        commands += job["script"]
        self.assertTrue(job["artifacts"]["reports"]["junit"])
        self.assertEqual(sum("examples/ci/perf-gate.sh" in command for command in commands), 2)
        for command in [*commands, read("perf-gate.sh")]:
            subprocess.run(["bash", "-n", "-c", command], check=True)
        # Commands that run perf-gate.sh must pass its arguments: a base, a build command, and a command to record.
        for command in commands:
            words = re.fullmatch(r"sh examples/ci/perf-gate\.sh \"\$\w+\" '([^']+)' (\./\w+) .*", command)
            self.assertTrue(words or "perf-gate" not in command, command)


if __name__ == "__main__":
    rig.main()
