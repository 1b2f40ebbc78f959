#!/usr/bin/env python3
"""root names folders of profiles where a stranger can create, replace and move entries. The stranger must not choose what
is compared, where root writes, or make root wait."""

import os
import subprocess
import sys
import unittest

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)),
                os.path.join(os.path.dirname(os.path.abspath(__file__)), "../check")]
import made  # noqa: E402
import rig  # noqa: E402
import strangers  # noqa: E402

PASS, REGRESSION, UNUSABLE = 0, 1, 2
APP = os.environ.get("MOCK_CUDA_APP")
on_the_mock_driver = unittest.skipUnless(APP, "no mock driver: built without cuda.h")
MOVE = "import os, sys\nos.rename(sys.argv[1], sys.argv[1] + '.moved')\nos.rename(sys.argv[2], sys.argv[1])"


class Folders(rig.RuntimeTest):
    """`self.sticky` is a folder like /tmp; `self.folder` belongs to root."""

    def setUp(self):
        super().setUp()
        reason = strangers.why_not()
        if reason:
            self.skipTest(reason)
        self.stranger = strangers.stranger()
        scratch = strangers.Scratch(sticky=True)
        self.addCleanup(scratch.cleanup)
        self.sticky = os.path.realpath(scratch.name)
        self.hers = self.in_sticky("hers")
        self.as_stranger("os.mkdir(sys.argv[1])", self.hers)
        os.chmod(self.folder, 0o755)
        self.environment = {**os.environ, "LD_LIBRARY_PATH": os.environ.get("MOCK_CUDA_DIR", "")}

    def in_sticky(self, name):
        return os.path.join(self.sticky, name)

    def as_stranger(self, code, *arguments):
        run = self.stranger.python("import os, sys\n" + code, *arguments, capture_output=True, cwd="/")
        self.assertEqual(run.returncode, 0, run.stderr)

    def gives(self, code, *words, saying=""):
        run = self.run_command([rig.GPUPROF, *words], env=self.environment, timeout=100)
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertEqual(run.returncode, code, f"{words}\n{run.stdout}\n{stderr}")
        self.assertIn(saying, stderr)
        return run.stdout.decode("utf-8", "replace"), stderr

    def runs(self, name, folder=None, work=None, **facts):
        return [made.write(os.path.join(folder or self.folder, f"{name}-{i}.txt"), work, seed=f"{name} {i}", **facts)
                for i in range(1, 6)]

    def app(self, name, launches, waits=False):
        """Returns a program whose runs all cost the same. With `waits`, its last run waits for the file `go`."""
        path = os.path.join(self.folder, name)
        last = f"echo >> runs\ntest $(wc -l < runs) != 3 || {{ : > last; while ! test -e go; do sleep 0.05; done; }}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{APP} --launches {launches} --kernels-only\n{last if waits else ''}\n")
        os.chmod(path, 0o755)
        return path

    # Folders for the profiles of `check`.

    @on_the_mock_driver
    def test_check_judges_the_profiles_that_it_recorded(self):
        # The stranger owns the folder above, and replaces the folder of the profiles while the last run is recorded.
        out, false = os.path.join(self.hers, "out"), os.path.join(self.hers, "false")
        check = subprocess.Popen([rig.GPUPROF, "check", "--runs", "3", "--warmup", "0", "-o", out, "--",
                                  self.app("a", 200), "---", self.app("b", 400, waits=True)],
                                 cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(check.kill)
        self.assertTrue(rig.wait_for(lambda: os.path.exists(os.path.join(self.folder, "last"))))
        plain = os.path.join(self.folder, "plain")
        os.mkdir(plain)
        for side in ("old", "new"):
            self.runs(side, plain)
        self.as_stranger("import shutil\nshutil.copytree(sys.argv[1], sys.argv[2])", plain, false)
        self.stranger.python(MOVE, out, false, cwd="/", check=True)
        with open(os.path.join(self.folder, "go"), "wb"):
            pass
        stdout, stderr = check.communicate(timeout=100)
        self.assertEqual(check.returncode, REGRESSION, f"{stdout}\n{stderr}")
        self.assertIn(f"the profiles are in {out}.moved", stderr.decode())

    def test_check_records_into_no_folder_of_others(self):
        inside = os.path.join(self.folder, "inside")
        os.mkdir(inside)
        self.as_stranger("os.symlink(*sys.argv[1:])", inside, self.in_sticky("link"))
        open_to_all = os.path.join(self.folder, "open")
        os.mkdir(open_to_all)
        os.chmod(open_to_all, 0o777)
        for folder, saying in ((self.hers, "belongs to another user"), (open_to_all, "other users can write"),
                               (self.in_sticky("link"), "symbolic link of another user"),
                               (self.in_sticky("link/out"), "symbolic link of another user")):
            with self.subTest(folder):
                self.gives(UNUSABLE, "check", "--self", "4", "-o", folder, "--", "true", saying=saying)
                self.assertEqual(os.listdir(inside) + os.listdir(self.hers) + os.listdir(open_to_all), [])

    # Folders of baselines.

    def test_check_uses_no_baseline_of_others(self):
        new = self.runs("new", commit="new", work=made.slower("kernel_7", 1.5))
        kept = os.path.join(self.folder, "kept")
        self.gives(125, "check", "--baseline", kept, "--save", *self.runs("first", commit="first"))
        self.gives(REGRESSION, "check", "--baseline", kept, *new)
        inside = os.path.join(self.folder, "inside")
        os.mkdir(inside)
        self.as_stranger("os.symlink(*sys.argv[1:])", inside, self.in_sticky("link"))
        for folder, saying in ((self.hers, "belongs to another user"),
                               (self.in_sticky("link"), "symbolic link of another user"),
                               (self.in_sticky("link/new"), "symbolic link of another user")):
            with self.subTest(folder):
                self.gives(UNUSABLE, "check", "--baseline", folder, "--save", *new, saying=saying)
                self.assertEqual(os.listdir(inside) + os.listdir(self.hers), [])
        # Each folder below it decides, too.
        for folder, _, _ in list(os.walk(kept)):
            with self.subTest(folder):
                os.chmod(folder, 0o777)
                self.gives(UNUSABLE, "check", "--baseline", kept, *new, saying="other users can write")
                os.chmod(folder, 0o755)
        self.gives(REGRESSION, "check", "--baseline", kept, *new)

    def test_a_pipe_in_a_baseline_is_an_error(self):
        kept = os.path.join(self.folder, "kept")
        self.gives(125, "check", "--baseline", kept, "--save", *self.runs("first", commit="first"))
        (folder,) = [folder for folder, _, files in os.walk(kept) if files]
        os.mkfifo(os.path.join(folder, "run-0.txt"))
        self.gives(UNUSABLE, "check", "--baseline", kept, *self.runs("new", commit="new"),
                   saying="run-0.txt: it is not a regular file")

    # Folders of profiles that commands read.

    def test_links_and_pipes_of_others_are_no_profiles_of_a_folder(self):
        secret = made.write(os.path.join(self.folder, "secret.txt"), command="./secret")
        os.chmod(secret, 0o600)
        shown = made.write(os.path.join(self.folder, "shown.txt"), command="./shown")
        self.as_stranger("import shutil\nfolder = sys.argv[1]\nos.symlink(sys.argv[2], folder + '/run-1.txt')\n"
                         "os.mkfifo(folder + '/run-2.txt')\nshutil.copy(sys.argv[3], folder + '/run-3.txt')",
                         self.hers, secret, shown)
        os.symlink(shown, os.path.join(self.folder, "root.link"))
        out, err = self.gives(0, "merge", self.hers)
        self.assertIn("ignoring files that are not profiles: run-1.txt, run-2.txt", err)
        self.assertIn("./shown", out)
        self.assertNotIn("./secret", out)
        self.assertIn("./shown", self.gives(0, "merge", os.path.join(self.folder, "root.*"))[0])
        self.gives(1, "merge", os.path.join(self.hers, "run-1*"), saying="symbolic link of another user")
        self.gives(1, "merge", os.path.join(self.hers, "run-2*"), saying="it is not a regular file")
        self.as_stranger("os.symlink(*sys.argv[1:])", self.folder, self.in_sticky("link"))
        self.gives(UNUSABLE, "merge", self.in_sticky("link"), saying="symbolic link of another user")

    # Folders that `split` writes.

    def test_split_gives_no_profiles_to_a_stranger(self):
        whole = os.path.join(rig.SOURCE, "test/golden/train.txt")
        self.gives(UNUSABLE, "split", "--by", "process", "-o", self.hers, whole, saying="belongs to another user")
        self.assertEqual(os.listdir(self.hers), [])
        self.gives(0, "split", "--by", "process", "-o", self.in_sticky("new"), whole)
        self.assertEqual(os.stat(self.in_sticky("new")).st_uid, 0)


if __name__ == "__main__":
    rig.main()
