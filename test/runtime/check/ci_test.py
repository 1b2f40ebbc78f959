#!/usr/bin/env python3
"""examples/ci: the files for CI systems are well-formed, and what they run finds a planted regression, and no other."""

import os
import re
import subprocess

import rig

FOLDER = os.path.join(rig.SOURCE, "examples/ci")
PASS, REGRESSION, INCONCLUSIVE = 0, 1, 125


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
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "RUNS": "5",
                            "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        for name in ("GITHUB_ACTIONS", "GITHUB_SHA", "CI_COMMIT_SHA"):
            self.environment.pop(name, None)

    def sh(self, *command, expect=(0,), timeout=280):
        run = subprocess.run(command, cwd=self.repository, env=self.environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False)
        self.assertIn(run.returncode, expect, f"{command}\n{run.stdout}")
        return run

    def commit(self, percent, note=""):
        """The program of a commit does `percent` of the usual work below solve()."""
        for name, text in (("app.in", f"#!/bin/sh\n# {note}\nexec {rig.EXAMPLE} --launches 150 --slow-site solve "
                            f'--percent {percent} "$@"\n'),
                           ("Makefile", "app: app.in\n\t@cp app.in app && chmod +x app\n"),
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

    def gate(self, expect):
        script = os.path.join(FOLDER, "perf-gate.sh")
        return self.sh("sh", script, "HEAD~1", "make -s", "./app", "--steps", "300", expect=expect).stdout

    @rig.requires("opencl", "program:git", "program:make")
    def test_the_script_finds_a_planted_regression(self):
        self.make_repository(100, 500)
        out = self.gate(expect=(REGRESSION,))
        self.assertIn("heavy", out)
        self.assertIn("solve", out)
        for name in ("gpuprof-check.md", "gpuprof-check.xml", "gpuprof-check/old-5.txt"):
            self.assertTrue(os.path.exists(os.path.join(self.repository, name)), name)
        self.assertEqual(len(self.sh("git", "worktree", "list").stdout.splitlines()), 1)

    @rig.requires("opencl", "program:git", "program:make")
    def test_the_script_lets_an_unchanged_program_pass(self):
        self.make_repository(100, 100)
        self.gate(expect=(PASS, INCONCLUSIVE))

    @rig.requires("opencl", "program:git", "program:make")
    def test_git_bisect_finds_the_commit(self):
        (line,) = re.findall(r"^    (git bisect run .*)$", read("README.md"), re.MULTILINE)
        # Machines that run tests are busy: what is planted here is large, so that it is seen above their noise.
        line = line.replace("--min-effect 50", "--min-effect 300")
        self.make_repository(100, 100, 100, 500, 500, 500)
        self.sh("git", "checkout", "-q", "HEAD~5")
        self.sh("sh", "-c", "make -s && cp app app.good")
        self.sh("git", "checkout", "-q", "-")
        self.sh("git", "bisect", "start", "HEAD", "HEAD~5")
        run = self.sh("sh", "-c", line, expect=(0, 2))
        # Where a commit could not be judged git skips it, and says what is left; it must not be led astray.
        verdicts = re.findall(r"^# (good|bad): \[\w+\] commit (\d)", self.sh("git", "bisect", "log").stdout, re.MULTILINE)
        self.assertEqual([verdict for verdict, commit in verdicts if (verdict == "bad") != (int(commit) >= 3)], [])
        if run.returncode == 0:
            self.assertRegex(run.stdout, r"is the first bad commit\n(.*\n)*.*commit 3 500")
        else:
            self.assertIn("'skip'ped commits left", run.stdout)

    @rig.requires("program:bash")
    def test_the_files_for_ci_systems(self):
        try:
            github, gitlab = yaml_of("github.yml"), yaml_of("gitlab.yml")
        except ImportError:
            self.skipTest("no python3-yaml")
        (job,) = github["jobs"].values()
        self.assertIn("pull_request", github[True])  # the key `on`, as YAML 1.1 reads it
        commands = [step["run"] for step in job["steps"] if "run" in step]
        (job,) = gitlab.values()
        commands += job["script"]
        self.assertTrue(job["artifacts"]["reports"]["junit"])
        self.assertEqual(sum("examples/ci/perf-gate.sh" in command for command in commands), 2)
        for command in [*commands, read("perf-gate.sh")]:
            subprocess.run(["bash", "-n", "-c", command], check=True)
        # What they hand to the script is what it takes: a base, how to build, and a command.
        for command in commands:
            words = re.fullmatch(r"sh examples/ci/perf-gate\.sh \"\$\w+\" '([^']+)' (\./\w+) .*", command)
            self.assertTrue(words or "perf-gate" not in command, command)


if __name__ == "__main__":
    rig.main()
