#!/usr/bin/env python3
"""Tests programs in other namespaces and below another root directory, on the mock driver, as containers have them."""

import json
import os
import re
import shutil
import signal
import subprocess

import rig

APP = os.environ["MOCK_CUDA_APP"]
MOCKS = os.environ["MOCK_CUDA_DIR"]
OTHER = 54321  # belongs to no user
AS_OTHER = ("setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups")
RUN = ("--launches", "300", "--kernels-only")
LONG = ("--launches", "1000000", "--gap-us", "300", "--kernels-only")


def make_root(folder):
    """Makes a root directory with the mock driver's program, as a container's image would be. Returns its path."""
    root = os.path.join(folder, "root")
    mocks = [os.path.join(MOCKS, name) for name in os.listdir(MOCKS) if ".so" in name]
    listed = subprocess.run(["ldd", APP, *mocks], env={**os.environ, "LD_LIBRARY_PATH": MOCKS}, check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    files = {*re.findall(r"(/\S+) \(0x", listed), APP, *mocks}
    for file in files:
        os.makedirs(root + os.path.dirname(file), exist_ok=True)
        shutil.copy(file, root + file, follow_symlinks=not file.startswith(MOCKS))
    for empty in ("proc", "old", "tmp"):
        os.makedirs(os.path.join(root, empty), exist_ok=True)
    return root


def chroot(root, *more):
    """Returns a command that runs a program below `root`, in mount and network namespaces of its own."""
    script = " && ".join((f"mount -t proc proc {root}/proc", *more, f'exec chroot {root} "$@"'))
    return ("unshare", "-mn", "sh", "-c", script, "sh")


def pivot(root):
    script = f'mount --bind {root} {root} && mount -t proc proc {root}/proc && cd {root} && pivot_root . old && exec "$@"'
    return ("unshare", "-mn", "sh", "-c", script, "sh")


class Started(rig.RuntimeTest):
    """record -- COMMAND, where the command leaves gpuprof's namespaces."""

    def assert_recorded(self, prefix, options=()):
        run = self.run_command([rig.GPUPROF, "record", *options, "-o", self.profile_path, "--", *prefix, APP, *RUN],
                               env={**os.environ, "LD_LIBRARY_PATH": MOCKS})
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertEqual(run.returncode, 0, stderr)
        did = json.loads(run.stdout)
        profile = rig.Profile(self.profile_path)
        end = profile.end()
        self.assertEqual([end[name] for name in ("launches", "gpu_records", "with_stack", "lost")],
                         [did["launches"]] * 3 + [0], stderr)
        self.assertTrue(any("assemble" in ";".join(frames) for frames, _ in self.folded()))

    @rig.requires("root", "program:unshare")
    def test_another_network_namespace(self):
        self.assert_recorded(("unshare", "-n"))

    @rig.requires("root", "program:unshare")
    def test_all_namespaces(self):
        self.assert_recorded(("unshare", "-nmpiuf", "--mount-proc"))

    @rig.requires("root", "program:unshare", "program:setpriv")
    def test_another_user_in_another_network_namespace(self):
        os.chmod(self.folder, 0o755)
        self.assert_recorded(("unshare", "-n", *AS_OTHER))

    @rig.requires("root", "program:unshare")
    def test_another_network_namespace_with_a_long_path_to_the_library_folder(self):
        os.environ["TMPDIR"] = os.path.join(self.folder, "l" * 100)  # the socket's path is longer than 107 bytes
        os.makedirs(os.environ["TMPDIR"])
        self.addCleanup(os.environ.pop, "TMPDIR")
        self.assert_recorded(("unshare", "-n"))

    @rig.requires("root", "program:unshare", "program:chroot")
    def test_another_root_directory_that_has_the_library_folder(self):
        os.chmod(self.folder, 0o755)
        root, shared = make_root(self.folder), os.path.join(self.folder, "shared")
        for folder in (shared, root + shared):
            os.makedirs(folder)
        os.environ["TMPDIR"] = shared
        self.addCleanup(os.environ.pop, "TMPDIR")
        self.assert_recorded(chroot(root, f"mount --bind {shared} {root}{shared}"))


    def assert_recorded_late(self, root, prefix):
        if os.path.exists(root + "/end"):
            os.unlink(root + "/end")
        recorder = subprocess.Popen([rig.GPUPROF, "record", "-o", self.profile_path, "--", *prefix, APP,
                                     "--launches", "1000000000", "--gap-us", "300", "--kernels-only", "--until", "/end"],
                                    env={**os.environ, "LD_LIBRARY_PATH": MOCKS}, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: recorder.poll() is None and recorder.kill())
        rig.wait_for(lambda: recorder.poll() is not None or (rig.gpu_records(self.profile_path) or 0) > 500)
        open(root + "/end", "x", encoding="ascii").close()
        stdout, stderr = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 0, stderr)
        self.assertRegex(stderr, r"process \d+ does not see gpuprof's library, so gpuprof has injected it")
        self.assertNotIn("records nothing of it", stderr)
        profile = rig.Profile(self.profile_path)
        self.assertTrue(any(key.endswith(".note.attached") for key in profile.meta()))
        self.assertNotIn("process_refused", profile.losses())
        totals, did = profile.end(), json.loads(stdout)
        self.assertGreater(totals["gpu_records"], 500)
        self.assertEqual(totals["launches"], totals["gpu_records"] - profile.coverage().get("before_attach", 0))
        self.assertLess(totals["launches"], did["launches"])
        self.assertEqual(profile.lost_work(), 0, profile.losses())
        self.assertTrue(any("assemble" in ";".join(frames) for frames, _ in self.folded()))

    @rig.requires("root", "program:unshare", "program:chroot")
    def test_another_root_directory(self):
        root = make_root(self.folder)
        cleared = ("env", "-i", f"PATH={os.environ['PATH']}", f"LD_LIBRARY_PATH={MOCKS}")
        for prefix in (chroot(root), pivot(root), (*cleared, *chroot(root))):
            with self.subTest(prefix=prefix):
                self.assert_recorded_late(root, prefix)
                os.unlink(self.profile_path)

    @rig.requires("root", "program:unshare", "program:chroot")
    def test_a_process_that_its_user_may_not_inspect_is_left_alone(self):
        os.chmod(self.folder, 0o755)
        root = make_root(self.folder)
        os.chmod(root + APP, 0o711)  # a process that runs an unreadable program is not dumpable
        *prefix, shell = chroot(root)
        command = [*prefix[:-1], prefix[-1].replace("chroot ", f"chroot --userspec={OTHER}:{OTHER} "), shell]
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--", *command, APP, "--launches", "1000",
                                "--gap-us", "1000"], env={**os.environ, "LD_LIBRARY_PATH": MOCKS})
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertEqual(run.returncode, 0, stderr)
        self.assertNotIn("gpuprof has injected it", stderr)
        self.assertEqual(rig.Profile(self.profile_path).end()["gpu_records"], 0)
        self.assertIn("has loaded libcuda.so.1 without gpuprof's library", stderr)


class Attached(rig.RuntimeTest):
    """record -p of a process in other namespaces."""

    def pid_of(self, process):
        """Returns the pid of the program: `unshare -f` has started it as a child."""
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            return int((file.read().split() or [process.pid])[0])

    def assert_recorded(self, *prefix):
        process = subprocess.Popen([*prefix, APP, *LONG], env={**os.environ, "LD_LIBRARY_PATH": MOCKS},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, process_group=0)
        self.addCleanup(lambda: (os.killpg(process.pid, signal.SIGKILL), process.wait(), process.stderr.close()))
        self.assertTrue(rig.wait_for(lambda: rig.napping(self.pid_of(process))))
        recorder = subprocess.Popen([rig.GPUPROF, "record", "-p", str(self.pid_of(process)), "-o", self.profile_path],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        rig.wait_for(lambda: recorder.poll() is not None or (rig.gpu_records(self.profile_path) or 0) > 500)
        recorder.send_signal(signal.SIGINT)
        _, stderr = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 0, stderr)
        end = rig.Profile(self.profile_path).end()
        self.assertGreater(end["gpu_records"], 500, stderr)
        self.assertGreater(end["gpu_ns"], 0, stderr)
        self.assertIsNone(process.poll())
        self.assertTrue(any("assemble" in ";".join(frames) for frames, _ in self.folded()))

    @rig.requires("root", "program:unshare")
    def test_another_network_namespace(self):
        self.assert_recorded("unshare", "-n")

    @rig.requires("root", "program:unshare")
    def test_all_namespaces(self):
        self.assert_recorded("unshare", "-nmpiuf", "--kill-child", "--mount-proc")

    @rig.requires("root", "program:unshare", "program:setpriv")
    def test_another_user_s_network_namespace(self):
        self.assert_recorded("unshare", "-n", *AS_OTHER)

    @rig.requires("root", "program:unshare", "program:setpriv")
    def test_a_user_namespace_without_root(self):
        self.assert_recorded(*AS_OTHER, "unshare", "-Urn")

    @rig.requires("root", "program:unshare", "program:chroot")
    def test_another_root_directory(self):
        root = make_root(self.folder)
        for prefix in (chroot(root), pivot(root)):
            self.assert_recorded(*prefix)
            os.unlink(self.profile_path)

    @rig.requires("root", "program:unshare", "program:setpriv")
    def test_without_root_twice(self):
        """A user attaches to processes of their own, also in a user namespace that they have made."""
        scope = "/proc/sys/kernel/yama/ptrace_scope"
        if os.path.exists(scope) and open(scope, encoding="ascii").read().strip() != "0":
            self.skipTest("kernel.yama.ptrace_scope is not 0")
        root = make_root(self.folder)  # copies that the other user may read
        gpuprof = shutil.copy(rig.GPUPROF, root)
        for folder in (self.folder, root + "/tmp"):
            os.chmod(folder, 0o777)
        for prefix in (AS_OTHER, (*AS_OTHER, "unshare", "-Urn")):
            process = subprocess.Popen([*prefix, root + APP, *LONG], env={**os.environ, "LD_LIBRARY_PATH": root + MOCKS},
                                       stdout=subprocess.DEVNULL)
            self.addCleanup(lambda process=process: (process.kill(), process.wait()))
            self.assertTrue(rig.wait_for(lambda process=process: rig.napping(process.pid)))
            for number in range(2):
                output = os.path.join(root, "tmp", f"{process.pid}-{number}.txt")
                recorder = subprocess.Popen([*AS_OTHER, gpuprof, "record", "-p", str(process.pid), "-o", output],
                                            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                rig.wait_for(lambda: recorder.poll() is not None or (rig.gpu_records(output) or 0) > 500)
                recorder.send_signal(signal.SIGINT)
                _, stderr = recorder.communicate(timeout=60)
                self.assertEqual(recorder.returncode, 0, stderr)
                self.assertGreater(rig.Profile(output).end()["gpu_ns"], 0, stderr)


if __name__ == "__main__":
    rig.main()
