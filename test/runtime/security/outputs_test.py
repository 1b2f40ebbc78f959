#!/usr/bin/env python3
"""Tests outputs in folders where other users can write. Other users must not choose where the bytes go, delay gpuprof, or
make the profile disappear."""

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rig  # noqa: E402
import strangers  # noqa: E402

PRECIOUS = "what must not be written to\n"
QUICK = "exit 0"
RELEASE = "while ! test -e go; do sleep 0.05; done"  # keeps the target running until the test has done its part


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def write(path, text=PRECIOUS):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def is_regular(path):
    return stat.S_ISREG(os.lstat(path).st_mode)


class OutputsTest(rig.RuntimeTest):
    """`self.sticky` is a folder like /tmp; `self.folder` belongs to root."""

    def setUp(self):
        super().setUp()
        reason = strangers.why_not()
        if reason:
            self.skipTest(reason)
        self.victim, self.stranger = strangers.victim(), strangers.stranger()
        scratch = strangers.Scratch(sticky=True)
        self.addCleanup(scratch.cleanup)
        self.sticky = os.path.realpath(scratch.name)
        os.chmod(self.folder, 0o755)
        self.messages = os.path.join(self.folder, "messages")
        self.precious = write(os.path.join(self.folder, "precious"))
        self.profile = os.path.join(self.folder, "recorded")
        shutil.copy(os.path.join(rig.SOURCE, "test/golden/train.txt"), self.profile)

    def in_sticky(self, name):
        return os.path.join(self.sticky, name)

    def as_stranger(self, code, *arguments):
        run = self.stranger.python("import os, sys\n" + code, *arguments, capture_output=True, cwd="/")
        self.assertEqual(run.returncode, 0, run.stderr)

    def link_of_stranger(self, target, name):
        self.as_stranger("os.symlink(sys.argv[1], sys.argv[2])", target, name)
        return name

    def writers(self, name):
        """Returns a command for each way to write a file."""
        return {
            "record": [rig.GPUPROF, "record", "-q", "-o", name, "--", "sh", "-c", QUICK],
            "flame -o": [rig.GPUPROF, "flame", "-i", self.profile, "-o", name],
            "flame --svg": [rig.GPUPROF, "flame", "-i", self.profile, "--svg", name],
            "merge": [rig.GPUPROF, "merge", self.profile, "-o", name],
        }

    def assert_says(self, run, *texts):
        stderr = run.stderr.decode("utf-8", "replace")
        for text in texts:
            self.assertIn(text, stderr)
        return stderr

    def start(self, command, **options):
        """Starts a process that ends with the test; its stderr goes into the file `messages`."""
        with open(self.messages, "wb") as file:
            process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stderr=file, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    # Tests with links.

    def test_a_strangers_link_at_the_output_name_is_replaced(self):
        for what, command in self.writers("").items():
            with self.subTest(what):
                name = self.link_of_stranger(self.precious, self.in_sticky("out"))
                command = [name if word == "" else word for word in command]
                run = self.run_command(command)
                self.assertIn(run.returncode, (0, rig.NOTHING), run.stderr)
                self.assertEqual(read(self.precious), PRECIOUS)
                self.assertTrue(is_regular(name), "the link is still there")
                self.assertEqual(os.lstat(name).st_uid, 0)
                os.unlink(name)

    def test_a_users_own_link_is_replaced_too(self):
        name = os.path.join(self.folder, "link")
        for what, command in self.writers(name).items():
            with self.subTest(what):
                os.symlink(self.precious, name)
                self.assertIn(self.run_command(command).returncode, (0, rig.NOTHING))
                self.assertEqual(read(self.precious), PRECIOUS)
                self.assertTrue(is_regular(name))
                os.unlink(name)

    def test_a_strangers_link_in_the_path_is_not_followed(self):
        inside = os.path.join(self.folder, "inside")
        os.mkdir(inside)
        # The stranger's symbolic link is in a sticky folder, or in a folder that belongs to the stranger. Linux follows
        # the latter link for all users, so gpuprof itself must refuse it.
        self.as_stranger("os.mkdir(sys.argv[1])", self.in_sticky("home"))
        for way in (self.in_sticky("way"), self.in_sticky("home/way")):
            self.link_of_stranger(inside, way)
            for what, command in self.writers(os.path.join(way, "out")).items():
                with self.subTest(what, way=way):
                    run = self.run_command(command)
                    self.assertEqual(run.returncode, 1)
                    self.assert_says(run, "symbolic link of another user", "hint:")
                    self.assertEqual(os.listdir(inside), [])

    def test_links_of_root_and_of_the_user_in_the_path_are_followed(self):
        inside = self.in_sticky("inside")
        os.mkdir(inside)
        os.chown(inside, self.victim.uid, self.victim.gid)
        os.symlink(inside, os.path.join(self.folder, "of-root"))
        self.victim.python("import os, sys; os.symlink(sys.argv[1], sys.argv[2])", os.path.join(self.folder, "of-root"),
                           self.in_sticky("own"))
        run = self.victim.run([rig.GPUPROF, "record", "-q", "-o", self.in_sticky("own/out"), "--", "true"],
                              capture_output=True, cwd="/")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIsNotNone(rig.Profile(os.path.join(inside, "out")).end())

    def test_a_block_device_behind_a_link_is_not_written(self):
        device = os.path.join(self.folder, "device")
        with contextlib.ExitStack() as stack:
            try:
                device = stack.enter_context(loop_device(self.folder))
            except OSError as error:
                self.skipTest(f"no block device can be made here: {error}")
            before = first_bytes(device)
            for what, command in self.writers(device).items():
                with self.subTest(what):
                    self.assert_says(self.run_command(command), "block device", "hint:")
            for what, command in self.writers(self.in_sticky("link")).items():
                with self.subTest(what):
                    name = self.link_of_stranger(device, self.in_sticky("link"))
                    self.assertIn(self.run_command(command).returncode, (0, rig.NOTHING))
                    self.assertTrue(is_regular(name))
                    os.unlink(name)
            self.assertEqual(first_bytes(device), before)
            self.assertTrue(stat.S_ISBLK(os.lstat(device).st_mode))

    # Tests with pipes.

    def test_a_strangers_pipe_is_refused_at_once(self):
        pipe = self.in_sticky("pipe")
        self.as_stranger("os.mkfifo(sys.argv[1]); os.chmod(sys.argv[1], 0o666)", pipe)
        for what, command in self.writers(pipe).items():
            with self.subTest(what):
                run = self.run_command(command, timeout=30)
                self.assertEqual(run.returncode, 1)
                self.assert_says(run, "pipe of another user", "hint:")

    def test_waiting_for_a_pipes_reader_can_be_interrupted(self):
        pipe = self.in_sticky("own-pipe")
        os.mkfifo(pipe)
        for what, command in self.writers(pipe).items():
            with self.subTest(what):
                waiting = self.start([word for word in command if word != "-q"])
                self.assertTrue(rig.wait_for(lambda: "waiting for a reader" in read(self.messages)))
                waiting.send_signal(signal.SIGTERM)
                self.assertIn(waiting.wait(timeout=30), (-signal.SIGTERM, 128 + signal.SIGTERM))

    def test_a_users_own_pipe_works(self):
        pipe = self.in_sticky("own-pipe")
        os.mkfifo(pipe)
        for what, command in self.writers(pipe).items():
            with self.subTest(what):
                taken = []
                reader = threading.Thread(target=lambda into=taken: into.append(read(pipe)), daemon=True)
                reader.start()
                run = self.run_command(command, timeout=60)
                self.assertIn(run.returncode, (0, rig.NOTHING), run.stderr)
                reader.join(30)
                self.assertEqual([len(text) > 100 for text in taken], [True])
        self.assertTrue(stat.S_ISFIFO(os.lstat(pipe).st_mode))

    def test_a_stalled_pipe_reader_does_not_make_record_unkillable(self):
        pipe = self.in_sticky("own-pipe")
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        long_name = "x" * 100_000  # this name makes the profile larger than a pipe's capacity
        recording = self.start([rig.GPUPROF, "record", "-o", pipe, "--", "sh", "-c", f": {long_name}; : >ended"],
                               start_new_session=True)
        self.assertTrue(rig.wait_for(lambda: os.path.exists(os.path.join(self.folder, "ended"))))
        # While the command runs, record forwards signals to it and does not end. The test cannot see when the command ends, so it
        # repeats the signal.
        def ended():
            if recording.poll() is None:
                recording.send_signal(signal.SIGTERM)
            return recording.poll() is not None
        self.assertTrue(rig.wait_for(ended, 30, 0.5), "record cannot be ended")
        self.assertNotEqual(recording.returncode, 0)
        self.assertIn("its reader reads nothing", read(self.messages))

    def test_output_names_of_open_descriptors_work(self):
        # Does not run as root, because a faulty gpuprof could then replace the link /dev/stdout of this machine.
        out = os.path.join(self.folder, "stdout")
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/../dev//stdout"):
            with self.subTest(name), open(out, "w", encoding="utf-8") as file:
                file.write("before\n")
                file.flush()
                run = self.victim.run([rig.GPUPROF, "merge", self.profile, "-o", name], stdout=file, cwd="/",
                                      stderr=subprocess.PIPE)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertTrue(read(out).startswith("before\nGPUPROF;"))

    def test_a_target_does_not_inherit_the_output(self):
        out = os.path.join(self.folder, "out")
        with open(out, "wb") as file:
            name = f"/dev/fd/{file.fileno()}"
            run = self.run_command([rig.GPUPROF, "record", "-q", "-o", name, "--", "ls", "-l", "/proc/self/fd"],
                                   pass_fds=[file.fileno()])
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(b"0 -> /dev/null", run.stdout)
        self.assertNotIn(out.encode(), run.stdout)
        self.assertIsNotNone(rig.Profile(out).end())

    def test_output_names_of_open_descriptors_work_without_links_in_dev(self):
        # Mounts an empty /dev, as in small containers and virtual machines, so that /dev/stdout does not exist.
        bare = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o mode=755 none /dev && exec "$@"', "sh"]
        probe = self.run_command([*bare, "setpriv", "--version"])
        if probe.returncode != 0:
            self.skipTest("no /dev of our own can be mounted: " + probe.stderr.decode("utf-8", "replace").strip())
        as_victim = ["setpriv", f"--reuid={self.victim.uid}", f"--regid={self.victim.gid}", "--clear-groups"]
        for name in ("/dev/stdout", "/dev/../dev//stdout"):
            with self.subTest(name):
                run = self.run_command([*bare, *as_victim, rig.GPUPROF, "merge", self.profile, "-o", name])
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertTrue(run.stdout.startswith(b"GPUPROF;"))

    # Tests of renaming the finished profile.

    def test_a_directory_at_the_name_of_the_old_profile_prevents_the_start(self):
        name = write(os.path.join(self.folder, "p.txt"))
        os.mkdir(name + ".old")
        run = self.run_command([rig.GPUPROF, "record", "-o", name, "--", "sh", "-c", ": >started"])
        self.assertEqual(run.returncode, 1)
        self.assert_says(run, "p.txt.old: that is a directory", "hint:")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "started")))
        self.assertEqual(read(name), PRECIOUS)
        self.assertEqual([entry for entry in os.listdir(self.folder) if ".new." in entry], [])

    def test_a_strangers_file_in_a_sticky_folder_prevents_the_start(self):
        name = self.in_sticky("p.txt")
        self.as_stranger("open(sys.argv[1], 'w').write('here')", name)
        run = self.victim.run([rig.GPUPROF, "record", "-o", name, "--", "touch", self.in_sticky("started")],
                              capture_output=True, cwd="/")
        self.assertEqual(run.returncode, 1)
        self.assert_says(run, "belongs to another user", "hint:")
        self.assertEqual(os.listdir(self.sticky), ["p.txt"])

    def test_a_strangers_lock_gives_the_profile_no_other_name(self):
        # The stranger locks a file of its own, and then the readable file of a victim.
        lock = ("import fcntl, os, sys, time\nfd = os.open(sys.argv[1], os.O_RDONLY)\n"
                "fcntl.flock(fd, fcntl.LOCK_EX)\n"
                "try:\n    fcntl.lockf(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX)\nexcept OSError:\n    pass\n"
                "open(sys.argv[2], 'w').close()\ntime.sleep(600)")
        for owner in (self.stranger, self.victim):
            for writer in (self.victim, None):  # None is root
                with self.subTest(owner=owner.name, writer=writer and writer.name):
                    folder = os.path.join(self.sticky, f"{owner.uid}-{writer and writer.uid}")
                    os.mkdir(folder)
                    os.chmod(folder, 0o1777)
                    name, ready = os.path.join(folder, "p.txt"), os.path.join(folder, "ready")
                    owner.python("import sys; open(sys.argv[1], 'w').write('here')", name, check=True)
                    holder = self.stranger.start([strangers.sys_python(), "-c", lock, name, ready], cwd="/")
                    self.addCleanup(holder.wait)
                    self.addCleanup(holder.kill)
                    self.assertTrue(rig.wait_for(lambda path=ready: os.path.exists(path)))
                    start = writer.run if writer else subprocess.run
                    run = start([rig.GPUPROF, "record", "-o", name, "--", "true"], capture_output=True, cwd="/", check=False)
                    refused = writer is not None and owner is self.stranger
                    self.assertEqual(run.returncode, 1 if refused else 0, run.stderr)
                    if refused:
                        self.assert_says(run, "belongs to another user", "hint:")
                    else:
                        self.assertIsNotNone(rig.Profile(name).end(), run.stderr)
                    self.assertEqual(sorted(os.listdir(folder)), ["p.txt", *([] if refused else ["p.txt.old"]), "ready"])

    def test_swapping_the_output_folder_does_not_move_the_profile(self):
        self.as_stranger("os.mkdir(sys.argv[1])", self.in_sticky("out"))
        recording = self.start([rig.GPUPROF, "record", "-o", self.in_sticky("out/p.txt"), "--", "sh", "-c", RELEASE])
        self.assertTrue(rig.wait_for(lambda: os.path.exists(self.in_sticky("out/p.txt"))))
        self.as_stranger("os.rename(sys.argv[1], sys.argv[2]); os.mkdir(sys.argv[1]); "
                         "open(sys.argv[1] + '/p.txt', 'w').write('of the stranger')",
                         self.in_sticky("out"), self.in_sticky("moved"))
        write(os.path.join(self.folder, "go"))
        self.assertEqual(recording.wait(timeout=60), 0)
        stderr = read(self.messages)
        self.assertIn(self.in_sticky("moved/p.txt") + " is an empty profile", stderr)
        self.assertNotIn(self.in_sticky("out/p.txt") + " is an empty profile", stderr)
        self.assertIsNotNone(rig.Profile(self.in_sticky("moved/p.txt")).end())
        self.assertEqual(read(self.in_sticky("out/p.txt")), "of the stranger")

    def test_a_profile_that_was_removed_is_a_failure(self):
        self.as_stranger("os.mkdir(sys.argv[1])", self.in_sticky("out"))
        recording = self.start([rig.GPUPROF, "record", "-o", self.in_sticky("out/p.txt"), "--", "sh", "-c", RELEASE])
        self.assertTrue(rig.wait_for(lambda: os.path.exists(self.in_sticky("out/p.txt"))))
        self.as_stranger("os.unlink(sys.argv[1])", self.in_sticky("out/p.txt"))
        write(os.path.join(self.folder, "go"))
        self.assertEqual(recording.wait(timeout=60), 1)
        self.assertIn("p.txt is lost", read(self.messages))

    def test_a_full_disk_keeps_the_existing_file(self):
        small = os.path.join(self.folder, "small")
        os.mkdir(small)
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", small], capture_output=True, check=False)
        if mount.returncode != 0:
            self.skipTest(f"no tmpfs can be mounted here: {mount.stderr!r}")
        self.addCleanup(subprocess.run, ["umount", small], check=False)
        name = write(os.path.join(small, "out"))
        large = os.path.join(self.folder, "large")
        self.gpuprof("record", "-q", "-o", large, "--", "sh", "-c", ": " + "x" * 60_000)
        for command in (["merge", large, "-o", name],
                        ["flame", "-i", self.profile, "--svg", name, "--title", "x" * 60_000]):
            with self.subTest(command[0]):
                run = self.run_command([rig.GPUPROF, *command])
                self.assertEqual(run.returncode, 1)
                self.assert_says(run, "No space left on device")
                self.assertEqual(read(name), PRECIOUS)
                self.assertEqual(os.listdir(small), ["out"])

    def test_user_gives_the_profile_to_the_user_and_nothing_else(self):
        name = self.link_of_stranger(self.precious, self.in_sticky("out"))
        run = self.run_command([rig.GPUPROF, "record", "-q", "--user", self.victim.name, "-o", name, "--", "true"])
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(os.lstat(name).st_uid, self.victim.uid)
        self.assertEqual(os.lstat(self.precious).st_uid, 0)
        self.assertEqual(read(self.precious), PRECIOUS)


def first_bytes(path):
    with open(path, "rb") as file:
        return file.read(1 << 16)


@contextlib.contextmanager
def loop_device(folder):
    """Returns a writable block device: a loop device over a file."""
    image = os.path.join(folder, "image")
    with open(image, "wb") as file:
        file.truncate(1 << 20)
    attached = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, check=False)
    if attached.returncode != 0:
        raise OSError(attached.stderr.decode("utf-8", "replace").strip())
    device = attached.stdout.decode().strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=False)


if __name__ == "__main__":
    rig.main()
