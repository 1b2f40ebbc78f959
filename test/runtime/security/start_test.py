#!/usr/bin/env python3
"""Tests that neither a stranger nor the target gains any rights when gpuprof starts a target or attaches to one."""

import os
import shutil
import signal
import subprocess
import tempfile
import time

import rig
import strangers

BUSY_LOADER = os.environ.get("BUSY_LOADER", "")
SLOW_LIBRARY = os.environ.get("SLOW_LIBRARY", "")

# A target that prints the folder of its injection libraries, and ends when it gets a line on stdin.
SHOW = 'echo "libraries ${CUDA_INJECTION64_PATH%/*}"; read line'

# A program of a stranger, which tries to rename the libraries' folder and each folder above it.
SWAP = """
import os, sys
path = sys.argv[1]
while path != "/":
    try:
        os.rename(path, path + ".swapped")
    except OSError:
        pass
    else:
        os.rename(path + ".swapped", path)
        print("swapped", path)
    try:
        os.mkdir(path + "/libgpuprof_other.so")
    except OSError:
        pass
    else:
        os.rmdir(path + "/libgpuprof_other.so")
        if not os.stat(path).st_mode & 0o1000:
            print("written to", path)
    path = os.path.dirname(path)
"""

# Joins a new session keyring, puts a key into it and executes the command in its arguments.
WITH_KEY = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(250, 1, None) < 0:
    sys.exit(77)
if libc.syscall(248, b"user", b"gpuprof-test", b"secret", 6, -3) < 0:
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
"""

# Searches the session keyring for the key that WITH_KEY adds.
FIND_KEY = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print("found" if libc.syscall(250, 10, -3, b"user", b"gpuprof-test", 0) >= 0 else "not found")
"""


def as_text(run):
    return run.stdout.decode("utf-8", "replace") + run.stderr.decode("utf-8", "replace")


class Test(rig.RuntimeTest):
    def scratch(self, sticky=False):
        folder = strangers.Scratch(sticky)
        self.addCleanup(folder.cleanup)
        return folder.name

    def popen(self, command, **options):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, cwd=self.folder, **options)
        self.addCleanup(lambda: (process.poll() is None and process.kill(), process.wait(), process.stdin.close(),
                                 process.stdout.close(), process.stderr.close()))
        return process

    def recording(self, prefix=(), **environment):
        """Starts a recording that waits for a line. Returns the recording and the folder of its libraries."""
        process = self.popen([*prefix, rig.GPUPROF, "record", "-o", "live.txt", "--", "sh", "-c", SHOW],
                             env={**os.environ, **environment})
        line = process.stdout.readline()
        self.assertTrue(line.startswith("libraries /"), line + (process.stderr.read() if not line else ""))
        return process, line.split(" ", 1)[1].strip()

    def finish(self, process):
        _, stderr = process.communicate("\n", timeout=60)
        self.assertEqual(process.returncode, 0, stderr)
        return stderr


class Commands(Test):
    def test_a_pipe_named_as_the_command_does_not_make_record_wait(self):
        os.mkfifo(os.path.join(self.folder, "pipe.sh"), 0o700)
        run = self.popen([rig.GPUPROF, "record", "-q", "--", "./pipe.sh"])
        _, stderr = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 126, stderr)
        self.assertIn("Permission denied", stderr)

    @strangers.needed
    def test_attaching_to_another_user_s_process_names_the_reason_and_what_helps(self):
        folder = self.scratch(sticky=True)
        gpuprof = shutil.copy(rig.GPUPROF, folder)  # the stranger may have no right to enter the build folder
        os.chmod(gpuprof, 0o755)
        victim = strangers.victim().start(["sleep", "60"])
        self.addCleanup(lambda: (victim.kill(), victim.wait()))
        run = strangers.stranger().run([gpuprof, "record", "-o", "p.txt", "-p", str(victim.pid)], cwd=folder,
                                       capture_output=True, text=True)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn(f"process {victim.pid} belongs to another user\n  hint: run gpuprof as root: sudo gpuprof record -p "
                      f"{victim.pid}\n", run.stderr)
        self.assertNotIn("--user", run.stderr)


class Libraries(Test):
    def assert_nobody_can_swap(self, folder):
        attack = strangers.stranger().python(SWAP, folder, capture_output=True)
        self.assertEqual(attack.returncode, 0, attack.stderr)
        self.assertEqual(attack.stdout, b"")

    @strangers.needed
    def test_the_folder_in_TMPDIR_is_used_if_it_is_safe(self):
        scratch = self.scratch()
        process, folder = self.recording(TMPDIR=scratch)
        self.assertEqual(os.path.dirname(folder), os.path.realpath(scratch))
        self.assert_nobody_can_swap(folder)
        self.finish(process)
        self.assertEqual(os.listdir(scratch), [])

    @strangers.needed
    def test_libraries_are_never_below_a_folder_that_a_stranger_can_swap(self):
        scratch = self.scratch(sticky=True)
        stranger = strangers.stranger()
        theirs, linked, open_to_all, below = (f"{scratch}/{name}" for name in ("theirs", "linked", "open", "theirs/below"))
        os.mkdir(theirs)
        os.mkdir(below)
        os.chown(theirs, stranger.uid, stranger.gid)
        os.symlink(theirs, linked)
        os.lchown(linked, stranger.uid, stranger.gid)
        os.mkdir(open_to_all)
        os.chmod(open_to_all, 0o777)
        for tmpdir in (theirs, below, linked, open_to_all):
            with self.subTest(tmpdir=os.path.basename(tmpdir)):
                process, folder = self.recording(TMPDIR=tmpdir)
                self.assertFalse(folder.startswith(scratch), folder)
                self.assert_nobody_can_swap(folder)
                self.assertIn(f"TMPDIR={tmpdir} is not used for the injection libraries: ", self.finish(process))

    @strangers.needed
    def test_root_avoids_folders_that_other_users_cannot_enter(self):
        with tempfile.TemporaryDirectory() as private:  # a temporary folder has mode 0700
            process, folder = self.recording(TMPDIR=private)
            self.assertFalse(folder.startswith(private), folder)
            library = [os.path.join(folder, name) for name in os.listdir(folder)][0]
            self.assertEqual(strangers.stranger().run(["test", "-r", library]).returncode, 0)
            self.finish(process)

    @strangers.needed
    def test_cleanup_does_not_follow_links_of_strangers(self):
        scratch = self.scratch(sticky=True)
        kept = os.path.join(self.folder, "kept")
        os.mkdir(kept)
        with open(os.path.join(kept, "file"), "wb"):
            pass
        for name in ("gpuprof-libraries-a", "gpuprof-libs-4194303-abc"):
            os.symlink(kept, f"{scratch}/{name}")
        self.finish(self.recording(TMPDIR=scratch)[0])
        self.assertEqual(os.listdir(kept), ["file"])

    @rig.requires("root", "program:unshare")
    def test_cleanup_in_another_pid_namespace_keeps_the_libraries(self):
        if subprocess.run(["unshare", "-p", "-f", "--mount-proc", "true"], check=False).returncode != 0:
            self.skipTest("no right to make a pid namespace")
        scratch = self.scratch()
        process, folder = self.recording(TMPDIR=scratch)
        before = os.listdir(folder)
        self.assertTrue(before)
        other = self.run_command(["unshare", "-p", "-f", "--mount-proc", rig.GPUPROF, "record", "-o", "other.txt", "--",
                                  "true"], env={**os.environ, "TMPDIR": scratch})
        self.assertEqual(other.returncode, 0, as_text(other))
        self.assertTrue(os.path.exists(folder), "the libraries of a live recording are gone")
        self.assertEqual(os.listdir(folder), before)
        self.finish(process)
        self.assertEqual(os.listdir(scratch), [])

    @rig.requires("root")
    def test_the_next_recorder_removes_the_libraries_of_a_killed_one(self):
        scratch = self.scratch()
        process, folder = self.recording(TMPDIR=scratch)
        process.kill()
        process.wait()
        self.assertTrue(os.path.exists(folder))
        second, other = self.recording(TMPDIR=scratch)
        self.assertEqual(os.listdir(scratch), [os.path.basename(other)])
        self.finish(second)


class User(Test):
    """Tests what a target of --user inherits from root."""

    def as_victim(self, *command, options=(), **run_options):
        folder = self.scratch(sticky=True)
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--user", strangers.victim().name,
                                *options, "--", *command], **run_options)
        self.assertTrue(os.path.isdir(folder))
        self.assertEqual(run.returncode, 0, as_text(run))
        return run.stdout.decode()

    def environment(self, *options, **variables):
        shown = self.as_victim("/usr/bin/env", "-0", options=options, env={**os.environ, **variables})
        return dict(entry.split("=", 1) for entry in shown.split("\0") if entry)

    @strangers.needed
    def test_the_target_gets_the_environment_of_its_user(self):
        ours = {"SECRET": "of root", "SSH_AUTH_SOCK": "/root/agent", "LD_LIBRARY_PATH": "/root/lib", "HOME": "/root",
                "PATH": "/root/bin:" + os.environ["PATH"], "PYTHONPATH": "/root", "TMPDIR": "/tmp", "USER": "root",
                "SUDO_USER": "root", "XDG_RUNTIME_DIR": "/run/user/0", "XAUTHORITY": "/root/.Xauthority"}
        kept = {"TERM": "vt100", "LANG": "C", "LC_NUMERIC": "C", "TZ": "UTC", "CUDA_VISIBLE_DEVICES": "1",
                "OCL_ICD_VENDORS": "/etc/OpenCL/vendors", "POCL_CACHE_DIR": "/tmp/pocl", "ZE_AFFINITY_MASK": "0"}
        victim = strangers.victim()
        environment = self.environment(**ours, **kept)
        self.assertEqual({name: environment.get(name) for name in kept}, kept)
        self.assertEqual({name for name in ours if environment.get(name) == ours[name]}, set(), environment)
        names = ("USER", "LOGNAME", "HOME", "SHELL", "PATH")
        self.assertEqual([environment[name] for name in names],
                         [victim.name, victim.name, os.path.expanduser("~" + victim.name), "/bin/sh",
                          "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"])
        self.assertNotIn("root", " ".join(value for name, value in environment.items() if not name.startswith("CUDA")))

    @strangers.needed
    def test_preserve_env_keeps_the_callers_environment(self):
        environment = self.environment("--preserve-env", SECRET="of root", HOME="/root")
        self.assertEqual(environment["SECRET"], "of root")
        self.assertNotEqual(environment["HOME"], "/root")

    def test_preserve_env_requires_user(self):
        run = self.run_command([rig.GPUPROF, "record", "--preserve-env", "--", "true"])
        self.assertEqual(run.returncode, 2)
        self.assertIn("--user", as_text(run))

    @strangers.needed
    def test_the_target_inherits_no_groups_and_no_descriptors(self):
        with open("/etc/shadow", "rb") as secret:
            shown = self.as_victim("sh", "-c", "id -G; id -u; ls /proc/$$/fd", pass_fds=[secret.fileno()])
        groups, uid, *descriptors = shown.split()
        self.assertEqual((int(groups), int(uid)), (strangers.victim().gid, strangers.victim().uid))
        self.assertEqual(descriptors, ["0", "1", "2"])

    @strangers.needed
    def test_the_target_gets_another_session_keyring(self):
        if os.uname().machine != "x86_64":
            self.skipTest("the numbers of the system calls are those of x86-64")
        record = [strangers.sys_python(), "-c", WITH_KEY, rig.GPUPROF, "record", "-q", "-o", self.profile_path]
        find = ["--", strangers.sys_python(), "-c", FIND_KEY]
        control = self.run_command([*record, *find])
        if control.returncode == 77:
            self.skipTest("no keyrings here")
        self.assertEqual(control.stdout, b"found\n", as_text(control))
        run = self.run_command([*record, "--user", strangers.victim().name, *find])
        self.assertEqual((run.returncode, run.stdout), (0, b"not found\n"), as_text(run))

    @strangers.needed
    def test_a_signal_reaches_the_whole_command(self):
        process = self.popen([rig.GPUPROF, "record", "-o", self.profile_path, "--user", strangers.victim().name, "--",
                              "sh", "-c", "trap 'exit 7' TERM; sleep 60 & echo $!; wait"])
        child = int(process.stdout.readline())
        self.assertTrue(rig.wait_for(lambda: strangers.command_of(child) == "sleep"))
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 7, stderr)
        self.assertTrue(rig.wait_for(lambda: not os.path.exists(f"/proc/{child}")))


class Root(Test):
    """If gpuprof runs under sudo but does not need root, it says so once on a machine, but never with -q or --user."""

    TEXT = b"root is not needed"
    MARK = "/var/cache/gpuprof/root-mentioned"
    SUDO = {**os.environ, "SUDO_UID": "1000"}

    def forget(self):
        if os.path.lexists(self.MARK):
            os.unlink(self.MARK)

    def told(self, *options, target=("true",), **run_options):
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, *options, "--", *target], **run_options)
        self.assertEqual(run.returncode, 0, as_text(run))
        return run.stderr.count(self.TEXT)

    @strangers.needed
    def test_the_notice_about_root_is_printed_once(self):
        self.forget()
        self.assertEqual(self.told(env={key: value for key, value in self.SUDO.items() if key != "SUDO_UID"}), 0)
        self.assertEqual(self.told("--user", strangers.victim().name, env=self.SUDO), 0)
        self.assertEqual(self.told("-q", env=self.SUDO), 0)
        self.assertEqual(self.told(target=("sh", "-c", "true & true"), env=self.SUDO), 1)
        self.assertEqual(self.told(env=self.SUDO), 0)

    @rig.requires("root", "ebpf")
    def test_no_notice_is_printed_if_root_is_needed(self):
        self.forget()
        self.assertEqual(self.told("--stacks", "bpf", env=self.SUDO), 0)


class Attach(Test):
    def busy(self, *arguments):
        """Starts a process of the victim whose loader is busy."""
        if not os.path.exists(BUSY_LOADER) or os.uname().machine != "x86_64":
            self.skipTest("the program is not built, or libraries cannot be brought in on this processor")
        folder = self.scratch()
        for source, name in ((BUSY_LOADER, "busy_loader"), (SLOW_LIBRARY, "slow.so"), (SLOW_LIBRARY, "libcuda.so.1")):
            shutil.copy(source, f"{folder}/{name}")
            os.chmod(f"{folder}/{name}", 0o755)
        victim = strangers.victim()
        process = self.popen([f"{folder}/busy_loader", f"{folder}/libcuda.so.1", f"{folder}/slow.so",
                              *(argument.format(folder=folder) for argument in arguments)],
                             user=victim.uid, group=victim.gid, extra_groups=[])
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process, folder

    def recorder(self, pid):
        """Starts record -p; returns once the first thread of the process waits for the loader."""
        recorder = self.popen([rig.GPUPROF, "record", "-p", str(pid), "-o", self.profile_path])
        self.assertTrue(rig.wait_for(lambda: self.waits_for_lock(pid) or recorder.poll() is not None))
        self.assertIsNone(recorder.poll())
        return recorder

    def waits_for_lock(self, pid):
        with open(f"/proc/{pid}/task/{pid}/syscall", encoding="ascii") as file:
            return file.read().startswith("202 ")  # futex on x86-64

    def is_traced(self, pid):
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return "TracerPid:\t0\n" not in file.read()

    @strangers.needed
    def test_ctrl_c_is_answered_while_the_loader_is_busy(self):
        process, _ = self.busy()

        def seconds_until_it_ends(number):
            recorder = self.recorder(process.pid)
            began = time.monotonic()
            recorder.send_signal(number)
            _, stderr = recorder.communicate(timeout=120)
            seconds = time.monotonic() - began
            self.assertEqual(recorder.returncode, 1, stderr)
            self.assertIn("ended by a signal", stderr)
            self.assertFalse(os.path.exists(self.profile_path))
            self.assertTrue(rig.wait_for(lambda: not self.is_traced(process.pid), 90), "nobody lets go of it")
            return seconds

        for number in (signal.SIGINT, signal.SIGTERM):
            self.assertLess(rig.least(lambda sent=number: seconds_until_it_ends(sent), 4, tries=3), 4)
        self.assertIsNone(process.poll())
        stdout, stderr = process.communicate("x", timeout=60)
        self.assertEqual((process.returncode, stdout, stderr), (0, "well\n", ""))

    @strangers.needed
    def test_a_killed_recorder_does_not_harm_the_process(self):
        process, _ = self.busy()
        recorder = self.recorder(process.pid)
        recorder.kill()
        recorder.wait()
        self.assertTrue(rig.wait_for(lambda: not self.is_traced(process.pid), 90), "nobody lets go of it")
        stdout, stderr = process.communicate("x", timeout=60)
        self.assertEqual((process.returncode, stdout, stderr), (0, "well\n", ""))

    @strangers.needed
    def test_a_process_that_executes_a_setuid_program_is_left_alone(self):
        process, folder = self.busy("{folder}/go", "{folder}/setuid")
        shutil.copy("/bin/sleep", f"{folder}/setuid")
        os.chmod(f"{folder}/setuid", 0o4755)
        recorder = self.recorder(process.pid)
        with open(f"{folder}/go", "wb"):
            pass
        _, stderr = recorder.communicate(timeout=120)
        self.assertEqual(recorder.returncode, 1, stderr)
        self.assertIn("another program", stderr)
        self.assertIsNone(process.poll(), stderr)
        self.assertEqual(os.readlink(f"/proc/{process.pid}/exe"), f"{folder}/setuid")
        self.assertFalse(self.is_traced(process.pid))
        with open(f"/proc/{process.pid}/maps", encoding="utf-8", errors="replace") as maps:
            self.assertNotIn("libgpuprof", maps.read())


if __name__ == "__main__":
    rig.main()
