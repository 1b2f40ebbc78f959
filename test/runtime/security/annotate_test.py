#!/usr/bin/env python3
"""root runs `annotate` on another user's profile, which names source files. These are opened with that user's rights."""

import os
import subprocess

import rig
import strangers

SECRET = "a line that only root may read"
OPEN_TO_ALL = "a line that all may read"


def profile_of(paths):
    """Returns a profile with one launch from the first line of each file."""
    parts = ["GPUPROF;3.0\nMETA;start_unix_ns;4102444800000000000\nSTRING;1;launcher\n"]
    for number, path in enumerate(paths, 2):
        parts.append(f"STRING;{number};{path}\nFRAME;{number};native;1;{number};1;0;0;0x0\nUSTACK;{number};{number}\n"
                     f"WORK;{number};0;0;0;{number};0;0;0;0;0;kernel;1;0\nGPU;0;{number};1;1000;1000;1000;0;0;0\n")
    return "".join(parts)


class AnnotateTest(rig.RuntimeTest):
    def setUp(self):
        super().setUp()
        reason = strangers.why_not()
        if reason:
            self.skipTest(reason)
        os.chmod(self.folder, 0o755)
        self.stranger = strangers.stranger()
        self.secret = self.file("secret.c", SECRET, 0o600)
        self.public = self.file("public.c", OPEN_TO_ALL, 0o644)
        os.mkdir(os.path.join(self.folder, "closed"), 0o700)
        self.hidden = self.file("closed/hidden.c", SECRET, 0o644)
        self.profile = self.file("gpuprof.txt", profile_of([self.secret, self.public, self.hidden]), 0o644)

    def file(self, name, text, mode):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.chmod(path, mode)
        return path

    def annotate(self, **options):
        run = subprocess.run([rig.GPUPROF, "annotate", "--cpu", *([] if options else ["-i", self.profile])],
                             capture_output=True, text=True, check=False, **options)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def assert_only_what_all_may_read(self, text):
        self.assertIn(OPEN_TO_ALL, text)
        self.assertNotIn(SECRET, text)
        self.assertIn("the owner of the profile cannot read it", text)

    def test_roots_own_profile_shows_what_root_may_read(self):
        self.assertEqual(self.annotate().count(SECRET), 2)

    def test_the_profile_of_another_user_shows_what_that_user_may_read(self):
        os.chown(self.profile, self.stranger.uid, self.stranger.gid)
        self.assert_only_what_all_may_read(self.annotate())
        # If root annotates a profile, the output shows a source file that only root and the owner of the profile may read.
        os.chown(self.secret, self.stranger.uid, self.stranger.gid)
        self.assertEqual(self.annotate().count(SECRET), 1)

    def test_the_group_of_the_profile_gives_no_rights(self):
        os.chmod(self.secret, 0o640)
        os.chown(self.profile, self.stranger.uid, 0)
        self.assert_only_what_all_may_read(self.annotate())

    def test_a_profile_that_all_may_write_gives_no_rights(self):
        os.chmod(self.profile, 0o666)
        self.assert_only_what_all_may_read(self.annotate())

    def test_standard_input_is_read_with_the_rights_of_its_owner(self):
        os.chown(self.profile, self.stranger.uid, self.stranger.gid)
        with open(self.profile, encoding="utf-8") as file:
            self.assert_only_what_all_may_read(self.annotate(stdin=file))

    def test_the_stranger_reads_with_the_strangers_rights(self):
        run = self.stranger.run([rig.GPUPROF, "annotate", "--cpu", "-i", self.profile], capture_output=True, text=True)
        if run.returncode == 126 or "Permission" in run.stderr:
            self.skipTest("another user cannot start this build")
        self.assertIn(OPEN_TO_ALL, run.stdout)
        self.assertNotIn(SECRET, run.stdout)


if __name__ == "__main__":
    rig.main()
