#!/usr/bin/env python3
"""root runs `annotate` on a profile that names files. It shows only source files that all users may read."""

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

    def annotate(self, *options, **run_options):
        command = [rig.GPUPROF, "annotate", "--cpu", *options, *([] if run_options else ["-i", self.profile])]
        run = subprocess.run(command, capture_output=True, text=True, check=False, **run_options)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_root_shows_what_all_may_read_whoever_owns_the_profile(self):
        for owner in (0, self.stranger.uid):
            os.chown(self.profile, owner, owner)
            text = self.annotate()
            self.assertIn(OPEN_TO_ALL, text)
            self.assertNotIn(SECRET, text)
            self.assertIn("not all users may read it (see --own-rights)", text)
        with open(self.profile, encoding="utf-8") as file:
            self.assertNotIn(SECRET, self.annotate(stdin=file))

    def test_roots_rights_are_used_when_asked(self):
        self.assertEqual(self.annotate("--own-rights").count(SECRET), 2)

    def test_only_files_with_names_of_source_files_are_shown(self):
        link = os.path.join(self.folder, "link.c")
        key = self.file("id_rsa", SECRET, 0o644)
        os.symlink(key, link)
        paths = [key, link, "/proc/self/environ", "/proc/self/root" + self.secret, "/etc/passwd", "/dev/null.c"]
        with open(self.profile, "w", encoding="utf-8") as file:
            file.write(profile_of(paths))
        text = self.annotate("--own-rights", "--limit", "0")
        self.assertNotIn(SECRET, text)
        self.assertNotIn("root:", text)
        self.assertEqual(text.count("root shows only source files"), len(paths))

    def test_the_stranger_reads_with_the_strangers_rights(self):
        run = self.stranger.run([rig.GPUPROF, "annotate", "--cpu", "-i", self.profile], capture_output=True, text=True)
        if run.returncode == 126 or "Permission" in run.stderr:
            self.skipTest("another user cannot start this build")
        self.assertIn(OPEN_TO_ALL, run.stdout)
        self.assertNotIn(SECRET, run.stdout)


if __name__ == "__main__":
    rig.main()
