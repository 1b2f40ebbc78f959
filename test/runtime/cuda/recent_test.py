#!/usr/bin/env python3
"""Tests `record --last` (with snapshots and triggers) and `record --rotate` on the mock driver."""

import glob
import json
import os
import re
import signal
import stat
import subprocess
import time

import rig

APP = os.environ["MOCK_CUDA_APP"]
NVTX_APP = os.environ["MOCK_NVTX_APP"]
ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": os.environ["MOCK_CUDA_DIR"],
               "GPUPROF_CUPTI_PATH": os.environ["MOCK_CUDA_DIR"]}
SECOND = 1_000_000_000


class Recent(rig.RuntimeTest):
    def start(self, options, *arguments):
        process = subprocess.Popen(
            [rig.GPUPROF, "record", "-o", self.profile_path, *options, "--", APP, "--gap-us", "300", *arguments],
            cwd=self.folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True)
        self.addCleanup(lambda: (self.end_group(process), process.wait(), process.stdout.close(),
                                 process.stderr.close()))
        return process

    @staticmethod
    def end_group(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def numbered(self, number):
        return os.path.join(self.folder, f"gpuprof.{number}.txt")

    def wait_for_file(self, number, seconds=30):
        self.assertTrue(rig.wait_for(lambda: os.path.exists(self.numbered(number)), seconds), os.listdir(self.folder))

    def check_complete(self, path):
        """Checks that sums agree and that busy and idle time fill the window. Returns (Profile, window in ns)."""
        profile = rig.Profile(path)
        end = profile.end()
        self.assertIsNotNone(end, path)
        self.assertEqual(end["gpu_records"], sum(row[3] for row in profile.gpu()))
        self.assertEqual(end["gpu_ns"], sum(row[4] for row in profile.gpu()))
        report = json.loads(self.gpuprof("report", "--json", "-i", path))
        self.assertEqual(report["warnings"], [])
        device = report["devices"][0]
        [window] = profile.of("WINDOW")
        length = int(window[1]) - int(window[0])
        self.assertEqual(device["busy_ns"] + device["idle_ns"], length)
        self.assertGreater(device["busy_ns"], 0)
        return profile, length

    def test_rotated_files_have_all_work_once(self):
        recorder = self.start(["--rotate", "1s", "--keep", "100"], "--launches", "20000")
        out, stderr = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 0, stderr)
        made = json.loads(out)
        files = glob.glob(os.path.join(self.folder, "*.txt"))
        self.assertGreater(len(files), 2, stderr)
        parts = [self.check_complete(path)[0].end() for path in files]
        self.assertEqual(sum(end["gpu_records"] for end in parts), made["total_ops"])
        self.assertEqual(sum(end["gpu_ns"] for end in parts), made["total_ns"])
        merged = os.path.join(self.folder, "merged")
        self.gpuprof("merge", "-o", merged, *files)
        self.assertEqual(rig.Profile(merged).end()["gpu_ns"], made["total_ns"])
        # All files together are one complete recording. A part says which time it has.
        self.assertNotIn("only a part", self.gpuprof("report", "-i", merged))
        self.assertIn("only a part of the program's run: --rotate, from 0s to 1s (missing: from 1s on)",
                      self.gpuprof("report", "--width", "200", "-i", self.numbered(1)))
        self.gpuprof("merge", "-o", merged, *(path for path in files if path != self.numbered(1)))
        self.assertIn("recorded only a part of the program's run: --rotate, from 1s on (missing: from 0s to 1s)",
                      self.gpuprof("report", "--width", "200", "-i", merged))

    def test_files_of_an_earlier_rotation_are_set_aside(self):
        recorder = self.start(["--rotate", "1s"], "--launches", "100000")
        self.wait_for_file(3)
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=30)
        others = {self.numbered(77): "not a part", self.numbered("3b"): "no number"}
        for path, text in others.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        recorder = self.start(["--rotate", "1s"], "--launches", "100")
        recorder.communicate(timeout=30)
        self.assertTrue(all(os.path.exists(self.numbered(number) + ".old") for number in (1, 2, 3)), os.listdir(self.folder))
        self.assertEqual(set(glob.glob(os.path.join(self.folder, "*.txt"))), {self.profile_path, *others})
        self.assertNotIn("only a part", self.gpuprof("report", "-i", self.profile_path))

    def test_old_files_are_removed_but_no_file_of_another(self):
        recorder = self.start(["--rotate", "1s", "--keep", "1"], "--launches", "100000")
        self.wait_for_file(1)
        os.rename(self.numbered(1), self.numbered(1) + ".mine")
        with open(self.numbered(1), "w", encoding="utf-8") as file:
            file.write("mine")
        self.wait_for_file(4)
        recorder.send_signal(signal.SIGINT)
        _, stderr = recorder.communicate(timeout=30)
        self.assertTrue(os.path.exists(self.numbered(1)), "removed a file that it did not write")
        self.assertFalse(os.path.exists(self.numbered(2)), stderr)
        self.check_complete(self.numbered(4))

    def test_only_the_last_seconds_are_kept(self):
        recorder = self.start(["--last", "1s"], "--launches", "100000")
        self.assertTrue(rig.wait_for(lambda: os.path.exists(self.profile_path)))
        first = os.stat(self.profile_path).st_ino
        self.assertTrue(rig.wait_for(lambda: os.stat(self.profile_path).st_ino != first), "it was not written anew")
        time.sleep(2)
        recorder.send_signal(signal.SIGINT)
        _, stderr = recorder.communicate(timeout=30)
        profile, length = self.check_complete(self.profile_path)
        self.assertTrue(SECOND <= length <= 2 * SECOND + SECOND // 10, length)
        self.assertRegex(stderr, r"the profile has only the last [0-9.]+ m?s, "
                                 rf"{profile.end()['gpu_records']} GPU records, ")
        self.assertIn("only a part of the program's run: --last 1.00 s", self.gpuprof("report", "-i", self.profile_path))
        self.assertEqual(os.listdir(self.folder), ["gpuprof.txt"])

    def test_a_snapshot_has_the_time_of_the_signal(self):
        recorder = self.start(["--last", "1s"], "--launches", "100000")
        self.assertTrue(rig.wait_for(lambda: (rig.gpu_records(self.profile_path) or 0) > 0))
        time.sleep(1)
        sent = time.monotonic_ns()
        recorder.send_signal(signal.SIGUSR2)
        self.wait_for_file(1)
        profile, _ = self.check_complete(self.numbered(1))
        begin, end = map(int, profile.of("WINDOW")[0])
        self.assertTrue(begin <= sent - SECOND // 2 and sent <= end, (begin, sent, end))
        recorder.send_signal(signal.SIGINT)
        _, stderr = recorder.communicate(timeout=30)
        self.assertRegex(stderr, r"SIGUSR2: wrote \S+gpuprof\.1\.txt \(")

    def test_snapshots_are_there_after_two_seconds(self):
        recorder = self.start(["--last", "1s"], "--launches", "100000")
        self.assertTrue(rig.wait_for(lambda: (rig.gpu_records(self.profile_path) or 0) > 0))
        numbers = iter(range(1, 100))

        def snapshot():
            number, begin = next(numbers), time.monotonic()
            recorder.send_signal(signal.SIGUSR2)
            self.wait_for_file(number)
            took = time.monotonic() - begin
            self.check_complete(self.numbered(number))
            return took
        self.assertLess(rig.least(snapshot, 0), 2)  # each try asks the program again for what it holds
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=30)
        late = [line for line in rig.Profile(self.profile_path).of("META") if line[0] == "sweep.late_ns"]
        self.assertEqual(late, [], "work arrived after busy times had been written")

    def test_a_trigger_writes_a_file(self):
        recorder = self.start(["--last", "1s", "--trigger", "kernel>15us,wait>1h"], "--launches", "100000")
        self.wait_for_file(1)
        self.check_complete(self.numbered(1))
        recorder.send_signal(signal.SIGINT)
        _, stderr = recorder.communicate(timeout=30)
        self.assertRegex(stderr, r"a kernel took 16\.0 us: wrote \S+gpuprof\.1\.txt")

    def test_an_idle_device_triggers_once(self):
        recorder = self.start(["--last", "1s", "--trigger", "idle>500ms"], "--launches", "1000", "--sleep-ms", "9000")
        _, stderr = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 0, stderr)
        self.assertEqual(stderr.count("a device was idle for at least "), 1, stderr)
        profile, _ = self.check_complete(self.numbered(1))
        self.assertEqual(profile.end()["gpu_records"], 8000, "all work of the program")
        self.assertGreater(sum(int(line[3]) for line in profile.of("IDLE")), SECOND // 2)

    def test_the_file_of_an_event_is_written_at_the_end_of_the_program(self):
        launches = '"$0" --launches 10; sleep 2; "$0" --launches 20 --gap-us 1'
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--last", "1s", "--trigger",
                                "kernel>15us,idle>1s", "--interval", "100ms", "--", "sh", "-c", launches, APP],
                               env=ENVIRONMENT)
        self.assertRegex(run.stderr.decode(), r"a kernel took 16\.0 us: wrote \S+gpuprof\.1\.txt")
        profile, _ = self.check_complete(self.numbered(1))
        self.assertEqual(profile.end()["gpu_records"], 8 * 10, run.stderr)

    def test_a_lagging_process_triggers(self):
        def record(pause):
            ranks = f'"$0" & sleep {pause}; "$0"; wait; sleep 1'
            run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--timeline", "--last", "1h",
                                    "--trigger", "lag:whole>500ms,range:whole>1h", "--", "sh", "-c", ranks, NVTX_APP],
                                   env=ENVIRONMENT)
            self.assertEqual(run.returncode, 0, run.stderr)
            return run.stderr.decode()
        self.assertRegex(record(0.8), r"a process lags by [0-9.]+ m?s: wrote \S+gpuprof\.1\.txt")
        self.assertNotIn("lags", record(0))

    def test_a_killed_recorder_leaves_a_readable_profile(self):
        for delay in (0.3, 1.9, 2.4):
            recorder = self.start(["--last", "1s"], "--launches", "100000")
            self.assertTrue(rig.wait_for(lambda: (rig.gpu_records(self.profile_path) or 0) > 0))
            time.sleep(delay)
            recorder.kill()
            killed = time.monotonic_ns()
            recorder.wait()
            self.assertIn("cut short", self.gpuprof("report", "-i", self.profile_path))
            profile = rig.Profile(self.profile_path)
            start, interval = (int(profile.meta()[key][0]) for key in ("start_ns", "interval_ns"))
            last = start + interval * (1 + max(int(line[0]) for line in profile.of("GPU")))
            self.assertGreater(last, killed - 3 * SECOND // 2)
            self.end_group(recorder)
            os.unlink(self.profile_path)

    def test_what_cannot_be_kept_is_refused(self):
        def refuse(options, text, path=self.profile_path):
            run = self.run_command([rig.GPUPROF, "record", "-o", path, *options, "--", "true"])
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn(text, run.stderr.decode())
        refuse(["--last", "2s", "--latency"], "--last cannot be combined with --latency")
        refuse(["--rotate", "2s", "--max-overhead", "1"], "--rotate cannot be combined with --max-overhead")
        refuse(["--last", "2s", "--rotate", "2s"], "both --last and --rotate")
        refuse(["--rotate", "1550ms"], "not a multiple of --interval")
        refuse(["--last", "1s", "--interval", "2s"], "shorter than --interval")
        refuse(["--trigger", "kernel>1s"], "--trigger without --last")
        refuse(["--last", "2s", "--trigger", "kernel=1s"], "'kernel=1s' is not an event")
        refuse(["--last", "2s", "--trigger", "range:>1s"], "'range:>1s' is not an event")
        refuse(["--last", "2s", "--trigger", "range:step>1s"], "range:NAME without --timeline")
        refuse(["--last", "2s", "--trigger", "lag:step>1s"], "lag:NAME without --timeline")
        refuse(["--last", "2s", "--timeline", "--trigger", "lag:a>1s,range:b>1s"], "triggers on two NVTX ranges")
        refuse(["--keep", "3"], "--keep without --rotate")
        refuse(["--last", "2s"], "is no regular file", "-")
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        refuse(["--rotate", "2s"], "is no regular file", fifo)
        self.assertTrue(stat.S_ISFIFO(os.stat(fifo).st_mode))


if __name__ == "__main__":
    rig.main()
