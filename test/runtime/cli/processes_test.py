#!/usr/bin/env python3
"""Records process trees, and processes that are killed."""

import os
import signal
import subprocess
import time

import rig

PROGRAM = '"$0" --launches 100'  # "$0" is rig.EXAMPLE
# Runs for longer than a second, because the recorder looks at processes only now and then.
LASTING_PROGRAM = '"$0" --launches 3000'


class Processes(rig.RuntimeTest):
    @rig.requires("opencl")
    def test_each_of_three_processes_has_all_of_its_work(self):
        alone, _ = self.record(["sh", "-c", f"exec {PROGRAM}", rig.EXAMPLE])
        profile, stderr = self.record(["sh", "-c", f"{PROGRAM} & {PROGRAM} & {PROGRAM}; wait", rig.EXAMPLE])
        self.assert_conserved(profile)
        by_process = {}
        for process, _, _, count, _ in profile.gpu():
            by_process[process] = by_process.get(process, 0) + count
        self.assertEqual(len(by_process), 3, stderr)
        self.assertEqual(set(by_process.values()), {alone.end()["gpu_records"]}, stderr)
        pids = {row[1] for row in profile.of("PROCESS") if row[0] in by_process}
        self.assertEqual(len(pids), 3)

    @rig.requires("opencl", "pyopencl")
    def test_programs_of_different_kinds_in_one_tree_are_recorded(self):
        profile, stderr = self.record(
            ["sh", "-c", f'{PROGRAM}; "$1" "$2"; exec {PROGRAM}', rig.EXAMPLE, rig.pyopencl_python(), rig.PYTHON_EXAMPLE])
        self.assert_conserved(profile)
        with_work = {row[0] for row in profile.gpu()}
        names = [row for row in profile.of("PROCESS") if row[0] in with_work]
        self.assertEqual(len(names), 3, stderr)

    @rig.requires("opencl")
    def test_a_grandchild_that_outlives_the_command_is_recorded_to_its_end(self):
        # The shell ends once its background process, which gpuprof sees as a grandchild, has loaded the OpenCL library.
        script = ('"$0" --launches 3000 >/dev/null 2>&1 & '
                  'while kill -0 $! && ! grep -q libgpuprof /proc/$!/maps; do sleep 0.02; done; exit 4')
        profile, stderr = self.record(["sh", "-c", script, rig.EXAMPLE], expect=4)
        self.assertEqual(profile.end()["gpu_records"], 9000, stderr)
        self.assert_conserved(profile)

    @rig.requires("opencl")
    def test_wait_main_ends_the_recording_with_the_command(self):
        # The background process keeps using the GPU after the recorder has ended, until the test creates the file `stop`.
        script = (f'(while [ ! -e stop ]; do {PROGRAM}; touch once; done; touch ended) >/dev/null 2>&1 & '
                  'while [ ! -e once ]; do sleep 0.02; done; exit 4')
        self.addCleanup(self.stop_loop)
        profile, stderr = self.record(["sh", "-c", script, rig.EXAMPLE], options=["--wait", "main"], expect=4)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "ended")))
        self.assertGreater(profile.end()["gpu_records"], 0, stderr)
        self.assert_conserved(profile)
        self.assertRegex(stderr, r"process(es)? \d+ \(sh\).* still runs?(, |\ngpuprof: )(its|their) later work "
                                 "is not in the profile\n")
        self.assertEqual(profile.meta()["recording.window"], ["--wait main"])
        report = subprocess.run([rig.GPUPROF, "report", self.profile_path], capture_output=True, check=True).stdout.decode()
        self.assertIn("recorded only a part of the program's run: --wait main", report)
        self.assertRegex(report, r"note: process(es)? \d+ \(sh\)")

    @rig.requires("opencl")
    def test_a_recording_that_is_stopped_names_recorded_processes_that_still_run(self):
        # Only the first background process uses a GPU.
        script = ('"$0" --launches 1000000 >/dev/null 2>&1 & echo $! >pid; sleep 100 & echo $! >idle; '
                  'while ! grep -q libgpuprof /proc/$(cat pid)/maps; do sleep 0.02; done; sleep 0.5')
        with open(os.path.join(self.folder, "messages"), "wb") as messages:
            process = subprocess.Popen([rig.GPUPROF, "record", "-o", self.profile_path, "--", "sh", "-c", script, rig.EXAMPLE],
                                       cwd=self.folder, stderr=messages)
        self.addCleanup(process.kill)
        said = lambda: open(messages.name).read()
        self.assertTrue(rig.wait_for(lambda: "waiting for its other processes" in said()))
        pids = {name: int(open(os.path.join(self.folder, name)).read()) for name in ("pid", "idle")}
        for pid in pids.values():
            self.addCleanup(os.kill, pid, signal.SIGKILL)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), 0, said())
        self.assertIn(f"process {pids['pid']} (example_opencl) still runs, its later work is not in the profile", said())
        self.assertEqual(rig.Profile(self.profile_path).meta()["recording.window"], ["signals"])

    @rig.requires("opencl")
    def test_wait_main_does_not_name_processes_that_have_ended(self):
        profile, stderr = self.record(["sh", "-c", f"{PROGRAM}; (exit 3) & wait; exit 4", rig.EXAMPLE],
                                      options=["--wait", "main"], expect=4)
        self.assertNotIn("later work", stderr)
        self.assertNotIn("recording.window", profile.meta())

    def stop_loop(self):
        with open(os.path.join(self.folder, "stop"), "wb"):
            pass
        rig.wait_for(lambda: os.path.exists(os.path.join(self.folder, "ended")))

    @rig.requires("opencl")
    def test_too_few_descriptors_are_named_as_the_reason_for_an_empty_profile(self):
        for most in (14, 15, 16):
            with self.subTest(most):
                run = self.run_command(["sh", "-c", f'ulimit -n {most}; exec "$0" record -o few.txt -- "$1" --launches 10',
                                        rig.GPUPROF, rig.EXAMPLE])
                self.assertIn("few.txt is an empty profile", run.stderr.decode())
                self.assertRegex(run.stderr.decode(), r"raise the limits? on open files")
                self.assertNotIn("mount namespace", run.stderr.decode())
                self.assertNotIn("layers", run.stderr.decode() + open(os.path.join(self.folder, "few.txt")).read()
                                 .replace("loader with layers", "").replace("tracing layer", ""))

    @rig.requires("opencl")
    def test_the_rank_comes_from_the_launchers_variables(self):
        profile, _ = self.record(["sh", "-c", f"RANK=3 SLURM_PROCID=1 {PROGRAM}; PMI_RANK=x {PROGRAM}", rig.EXAMPLE])
        text = profile.strings()
        with_work = {row[0] for row in profile.gpu()}
        ranks = [text.get(row[6], "") for row in profile.of("PROCESS") if row[0] in with_work]
        self.assertEqual(sorted(ranks), ["", "3"])


class Windows(rig.RuntimeTest):
    """Records only a window of the command's run time. Outside of the window, the command runs as if unrecorded."""

    LOOP = ["sh", "-c", f"echo $$ >pid; while [ ! -e stop ]; do {PROGRAM} >/dev/null; done; {PROGRAM} >out", rig.EXAMPLE]

    def start(self, *options):
        with open(os.devnull, "r+b") as null:
            process = subprocess.Popen(
                [rig.GPUPROF, "record", "-q", "-o", self.profile_path, *options, "--", *self.LOOP], cwd=self.folder,
                stdin=null, stdout=null, stderr=null)
        self.addCleanup(process.kill)
        self.assertTrue(rig.wait_for(lambda: os.path.exists(os.path.join(self.folder, "pid"))))
        self.assertTrue(rig.wait_for(lambda: os.path.exists(self.profile_path)))
        return process

    def wait_for_windows(self, count):
        """Waits until `count` windows have ended."""
        self.assertTrue(rig.wait_for(lambda: len(rig.Profile(self.profile_path).of("WINDOW")) >= count))

    def finish(self, process):
        with open(os.path.join(self.folder, "stop"), "wb"):
            pass
        self.assertEqual(process.wait(60), 0)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "out")))
        profile = rig.Profile(self.profile_path)
        self.assert_conserved(profile)
        return profile, [(int(end) - int(start)) / 1e9 for start, end in profile.of("WINDOW")]

    @rig.requires("opencl")
    def test_delay_and_duration_give_one_window(self):
        process = self.start("--delay", "1", "--duration", "2.5")
        self.wait_for_windows(1)
        profile, windows = self.finish(process)
        self.assertEqual(len(windows), 1)
        meta = profile.meta()
        begin, end = (int(ns) - int(meta["start_ns"][0]) for ns in profile.of("WINDOW")[0])
        # The window never begins before the delay of 1 s has passed. On a busy machine it may begin later.
        self.assertTrue(1e9 <= begin <= 4e9, begin)
        self.assertTrue(2.5e9 <= end - begin <= 5.5e9, end - begin)
        self.assertGreater(profile.end()["gpu_records"], 0)
        # Work that was launched in the window may end up to two time slices after the end of the window.
        interval = int(meta["interval_ns"][0])
        slices = {int(row[0]) for row in profile.of("GPU")}
        self.assertLessEqual(slices, set(range(begin // interval, end // interval + 3)))

    @rig.requires("opencl")
    def test_signals_switch_recording_on_and_off(self):
        process = self.start("--start-paused")
        for count in (1, 2):
            before = rig.gpu_records(self.profile_path)
            process.send_signal(signal.SIGUSR1)
            self.assertTrue(rig.wait_for(lambda seen=before: rig.gpu_records(self.profile_path) > seen))
            process.send_signal(signal.SIGUSR2)
            self.wait_for_windows(count)
        _, windows = self.finish(process)
        self.assertEqual(len(windows), 2)

    @rig.requires("opencl")
    def test_nothing_is_recorded_before_the_signal(self):
        process = self.start("--start-paused")
        time.sleep(1)
        profile, windows = self.finish(process)
        self.assertEqual(windows, [])
        self.assertEqual(profile.end()["gpu_records"], 0)


class Killed(rig.RuntimeTest):
    def start(self):
        """Records a target that launches for a long time. Returns once the file has its first records."""
        for name in (self.profile_path, os.path.join(self.folder, "pid")):
            if os.path.exists(name):
                os.unlink(name)
        command = [rig.GPUPROF, "record", "-o", self.profile_path, "--interval", "0.1", "--", "sh", "-c",
                   f"echo $$ >pid; while :; do {PROGRAM}; done", rig.EXAMPLE]
        with open(os.path.join(self.folder, "stderr"), "wb") as stderr, open(os.devnull, "wb") as null:
            process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=null, stderr=stderr,
                                       start_new_session=True)
        self.addCleanup(self.reap, process)
        self.assertTrue(rig.wait_for(self.has_gpu_record, 30), "no GPU record in the file after 30 s: " + self.stderr())
        return process

    def stderr(self):
        with open(os.path.join(self.folder, "stderr"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def has_gpu_record(self):
        return rig.has_line(self.profile_path, "GPU")

    def reap(self, process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def target(self):
        with open(os.path.join(self.folder, "pid"), encoding="ascii") as file:
            return int(file.read())

    def assert_readable(self):
        self.gpuprof("dump", "-i", self.profile_path)
        self.assertGreater(sum(value for _, value in self.folded()), 0)

    @rig.requires("opencl")
    def test_sigkill_of_the_target_leaves_a_complete_profile(self):
        process = self.start()
        os.kill(self.target(), signal.SIGKILL)
        self.assertEqual(process.wait(60), -signal.SIGKILL, self.stderr())
        self.assert_readable()
        self.assertIsNotNone(rig.Profile(self.profile_path).end())

    @rig.requires("opencl")
    def test_sigkill_of_gpuprof_leaves_a_readable_profile(self):
        process = self.start()
        process.kill()
        process.wait(60)
        self.assert_readable()
        self.assertIsNone(rig.Profile(self.profile_path).end())

    @rig.requires("opencl")
    def test_a_target_goes_on_without_gpuprof(self):
        command = [rig.GPUPROF, "record", "-q", "-o", self.profile_path, "--", "sh", "-c",
                   f"echo ready >ready; sleep 1; {PROGRAM} && echo well >well", rig.EXAMPLE]
        with open(os.devnull, "r+b") as null:
            process = subprocess.Popen(command, cwd=self.folder, stdin=null, stdout=null, stderr=null,
                                       start_new_session=True)
        self.addCleanup(self.reap, process)
        self.assertTrue(rig.wait_for(lambda: os.path.exists(os.path.join(self.folder, "ready"))))
        process.kill()
        process.wait(60)
        self.assertTrue(rig.wait_for(lambda: os.path.exists(os.path.join(self.folder, "well")), 60))

    @rig.requires("opencl")
    def test_sigint_and_sigterm_stop_cleanly(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start()
            target = self.target()
            process.send_signal(number)
            status = process.wait(60)
            self.assertIn(status, (-number, 128 + number, 0), self.stderr())
            self.assertFalse(os.path.exists(f"/proc/{target}"), "the target still runs")
            self.assertIsNotNone(rig.Profile(self.profile_path).end(), self.stderr())
            self.assert_readable()

    @rig.requires("opencl")
    def test_every_prefix_is_readable(self):
        self.record([rig.EXAMPLE])
        with open(self.profile_path, "rb") as file:
            whole = file.read()
        cut = os.path.join(self.folder, "cut.txt")
        step = max(1, len(whole) // 60)
        header = whole.index(b"\n") + 1
        for size in range(header, len(whole), step):
            with open(cut, "wb") as file:
                file.write(whole[:size])
            self.gpuprof("dump", "-i", cut)
            # Only complete lines count; the last line may be cut.
            has_work = b"\nGPU;" in whole[:whole.rindex(b"\n", 0, size)]
            self.gpuprof("flame", "-i", cut, expect=(0,) if has_work else (0, rig.NOTHING))


class Unrecorded(rig.RuntimeTest):
    """Processes that use OpenCL without gpuprof's library: record names the process and what to set."""

    def stderr_of(self, script, *options):
        profile, stderr = self.record(["sh", "-c", script, rig.EXAMPLE], options=options)
        self.assertNotIn("used no GPU that gpuprof can see", stderr)
        return profile, stderr

    @rig.requires("opencl")
    def test_a_cleared_environment_is_the_reason(self):
        profile, stderr = self.stderr_of(f'env -i HOME="$HOME" PATH="$PATH" {LASTING_PROGRAM}')
        self.assertEqual(profile.end()["gpu_records"], 0)
        self.assertRegex(stderr, r"process \d+ \(example_opencl\) has loaded libOpenCL\.so\.1\S* without gpuprof's library")
        self.assertIn("its environment has no OPENCL_LAYERS", stderr)
        self.assertIn("--preserve-env=OPENCL_LAYERS,GPUPROF_SOCKET,", stderr)

    @rig.requires("opencl")
    def test_the_variables_of_the_hint_are_enough(self):
        keep = " ".join(f'{name}="${name}"' for name in ("OPENCL_LAYERS", "GPUPROF_SOCKET", "GPUPROF_TOKEN", "GPUPROF_UID"))
        profile, stderr = self.record(["sh", "-c", f'env -i HOME="$HOME" PATH="$PATH" {keep} {PROGRAM}', rig.EXAMPLE])
        self.assertGreater(profile.end()["gpu_records"], 0, stderr)
        self.assertNotIn("without gpuprof's library", stderr)

    @rig.requires("opencl")
    def test_the_unrecorded_process_is_named_beside_a_recorded_one(self):
        profile, stderr = self.stderr_of(f'{PROGRAM}; env -i PATH="$PATH" {LASTING_PROGRAM}')
        self.assertGreater(profile.end()["gpu_records"], 0)
        self.assertIn("its environment has no OPENCL_LAYERS", stderr)
        self.assertNotIn("empty profile", stderr)
        self.assertRegex(stderr, r"coverage \S+, LOST process_refused 1\b")
        self.assertEqual(profile.losses(), {"process_refused": 1})
        report = self.gpuprof("report", "-i", self.profile_path)
        self.assertRegex(report, r"note: process \d+ \(\w+\) has loaded libOpenCL\.so\.1\S* without\s")
        self.assertIn("process_refused", report)

    @rig.requires("opencl", "root", "program:unshare")
    def test_a_library_that_is_hidden_in_the_process_s_namespace_is_the_reason(self):
        # The example may be below /tmp, which the mount hides. So the shell opens the example first.
        script = 'exec 3<"$0"; mount -t tmpfs none /tmp && exec /proc/self/fd/3 --launches 3000'
        profile, stderr = self.record(["unshare", "-m", "sh", "-c", script, rig.EXAMPLE],
                                      env={**os.environ, "TMPDIR": "/tmp"})
        self.assertEqual(profile.end()["gpu_records"], 0)
        self.assertRegex(stderr, r"its root directory or mount namespace has no /tmp/\S+/libgpuprof_opencl\.so")
        self.assertIn("set TMPDIR", stderr)

    @rig.requires("opencl")
    def test_a_backend_that_was_switched_off_is_the_reason(self):
        _, stderr = self.stderr_of(LASTING_PROGRAM, "--backend", "cupti")
        self.assertIn("--backend has switched the backend opencl off", stderr)


if __name__ == "__main__":
    rig.main()
