#!/usr/bin/env python3
"""Tests `record --cpu`: what threads compute, and why a device is idle, of programs that know both."""

import collections
import json
import os
import re
import time

import rig

PHASES = os.path.abspath(os.environ.get("GPUPROF_CPU_phases", "build/test/runtime/cpu/cpu_phases"))
GUEST = os.path.abspath(os.environ.get("GPUPROF_CPU_guest", "build/test/runtime/cpu/cpu_guest"))
BLOCKS = os.path.abspath(os.environ.get("GPUPROF_CPU_blocks", "build/test/runtime/cpu/cpu_blocks"))
GAPS = os.path.abspath(os.environ.get("GPUPROF_CPU_gaps", "build/test/runtime/cpu/cpu_gaps"))
PYTHON_PHASES = os.path.join(rig.SOURCE, "test/runtime/cpu/phases.py")
PYTHON_BLOCKS = os.path.join(rig.SOURCE, "test/runtime/cpu/blocks.py")
POINTS = 0.03
TAKEN = "the CPU samples ended early, because the program has taken their signal"


def seconds_of_others(command):
    """Runs `command`. Returns its result, and for how many seconds all processors together had other work meanwhile."""
    def busy():
        with open("/proc/stat", encoding="utf-8") as file:
            user, nice, system, _idle, _io, irq, softirq, steal = map(int, file.readline().split()[1:9])
        children = os.times()
        return ((user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
                - children.children_user - children.children_system)
    before = busy()
    result = command()
    return result, busy() - before


class CpuSamples(rig.RuntimeTest):
    def record_phases(self, command, *options, hertz=99):
        """Returns the profile and {phase: ns}, as the program measured them."""
        run = self.run_command([rig.GPUPROF, "record", f"--cpu={hertz}", "-o", self.profile_path, *options, "--", *command])
        self.assertEqual(run.returncode, 0, run.stderr.decode())
        expected = re.findall(r"^expect (\w+)=(\d+)$", run.stdout.decode(), re.MULTILINE)
        profile = rig.Profile(self.profile_path)
        self.assertEqual(profile.losses(), {}, run.stderr.decode())
        return profile, {name: int(ns) for name, ns in expected}

    def notes(self, profile):
        return [values for key, values in profile.meta().items() if key.endswith(".note.cpu_samples")]

    def samples(self, profile):
        return sum(numbers[0] for work, numbers in profile.measured("HOST") if work.op == "cpu")

    def check_conserved(self, profile):
        """The leaves of the idle picture have the idle ns of the devices, and with busy time the recorded time."""
        idle = sum(int(row[3]) for row in profile.of("IDLE"))
        self.assertEqual(sum(ns for _, ns in self.folded("--weight", "idle")), idle)
        windows = sum(int(row[1]) - int(row[0]) for row in profile.of("WINDOW"))
        busy = sum(numbers[0] for _, numbers in profile.measured("SHARE"))
        self.assertEqual(busy + idle, windows)

    def check_phases(self, command):
        profile, expected = self.record_phases(command)
        self.check_conserved(profile)
        idle = collections.Counter()
        for frames, ns in self.folded("--weight", "idle"):
            phase = "compute_in_a" if any("compute_in_a" in frame for frame in frames) else ""
            idle[phase, frames[-1]] += ns
        whole = expected.pop("whole")
        shares = {(phase, leaf): ns / whole for (phase, leaf), ns in idle.items()}
        want = {name: ns / whole for name, ns in expected.items()}
        message = f"expected {want}, found {shares}"
        self.assertAlmostEqual(shares.get(("compute_in_a", "[on CPU]"), 0), want["compute_in_a"], delta=POINTS,
                               msg=message)
        self.assertAlmostEqual(shares.get(("", "[sleeps]"), 0), want["sleep_in_b"], delta=POINTS, msg=message)
        self.assertAlmostEqual(shares.get(("", "[waits: futex]"), 0), want["wait_for_lock"], delta=POINTS, msg=message)
        return profile, expected

    def shares_in_gaps(self, *options):
        """Returns the shares of a program's idle time, and what the program measured, as shares of the same time.

        Idle time before the first kernel, and in calls that wait for the GPU, is left out.
        """
        profile, expected = self.record_phases([GAPS, *options], hertz=1000)
        self.check_conserved(profile)
        whole = expected.pop("whole")
        idle = collections.Counter()
        for frames, ns in self.folded("--weight", "idle"):
            phase = next((name for name in expected if any(name in frame for frame in frames)), frames[-1])
            idle[phase] += ns / whole
        return idle, {name: ns / whole for name, ns in expected.items()}

    def check_gaps(self, options, shares, points=POINTS):
        """Records a program up to three times. Times in which other programs take the processors from it do not count.

        `shares`: {name: a function of idle shares, the same of what the program measured}
        """
        quiet = 0
        for attempt in range(5):
            begin = time.monotonic()
            (idle, expected), others = seconds_of_others(lambda: self.shares_in_gaps(*options))
            if others > (time.monotonic() - begin) * os.cpu_count() / 5:
                print(f"attempt {attempt}: others used the processors for {others:.1f} s")
                continue
            quiet += 1
            self.no_processor = idle["[no processor]"]
            found = {name: (of_idle(idle), of_program(expected)) for name, (of_idle, of_program) in shares.items()}
            if all(abs(share - wanted) < points for share, wanted in found.values()):
                return
            print(f"attempt {attempt}: {found} of {dict(idle)}, expected {expected}")
            if quiet == 3:
                self.fail(f"found and expected shares: {found}")
        if quiet == 0:
            self.skipTest("other programs used more than a fifth of the processors in each attempt")
        self.fail(f"found and expected shares: {found}")

    @rig.requires("opencl", f"program:{GAPS}")
    def test_gaps_of_a_millisecond_between_long_kernels_belong_to_computing(self):
        a_of_both = lambda shares: shares["compute_in_a"] / (shares["compute_in_a"] + shares["[sleeps]"] +
                                                             shares["[waits: futex]"])
        self.check_gaps(["--step", "1000"], {"computes": (a_of_both, lambda _: 1)})

    @rig.requires("opencl", f"program:{GAPS}")
    def test_gaps_of_a_launch_bound_program_belong_to_its_functions(self):
        a_of_both = lambda shares: shares["compute_in_a"] / (shares["compute_in_a"] + shares["compute_in_b"])
        self.check_gaps(["--launch", "12000"], {"a of both": (a_of_both, a_of_both),
                                                "sleeps": (lambda idle: idle["[sleeps]"], lambda _: 0)})

    @rig.requires("opencl", f"program:{GAPS}")
    def test_gaps_in_which_the_program_computes_and_sleeps(self):
        # With two processors, polls find a sleeping thread up to 6.5 points too often. --cpu=bpf has 1, see below.
        self.check_gaps(["--half", "2000"], {"sleeps": (lambda idle: idle["[sleeps]"] / (idle["[sleeps]"] + idle["compute_in_a"]),
                                                        lambda of: of["sleep_in_b"] / (of["sleep_in_b"] + of["compute_in_a"]))}, points=0.08)

    @rig.requires("opencl", f"program:{GAPS}")
    def test_gaps_in_which_the_program_waits_for_a_lock(self):
        self.check_gaps(["--lock", "1500"], {"waits": (lambda idle: idle["[waits: futex]"],
                                                       lambda of: of["wait_for_lock"])})
        text = " ".join(self.gpuprof("report", "--full", self.profile_path).split())
        self.assertRegex(text, r"not explained by CPU samples, [\d.]+% is estimated from [\d,]+ polls of threads in short")

    @rig.requires("opencl", f"program:{GAPS}")
    def test_gaps_in_which_the_program_waits_for_the_disk(self):
        for option, cause, function in (("--fault", "[page fault]", "touch_pages"), ("--read", "[disk]", "read_parts")):
            with self.subTest(option):
                if self.run_command([GAPS, option, "1"]).returncode == 77:
                    self.skipTest("the file system keeps all files in memory")
                try:
                    # Each wait is short: polls have an error of up to 6 points here. --cpu=bpf has 3, see below.
                    self.check_gaps([option, "1000"], {cause: (lambda idle: idle[cause], lambda of: of[function])}, 0.07)
                except self.failureException as error:
                    if self.no_processor < 0.1:
                        raise
                    self.skipTest(f"other programs had the processors: {error}")

    @rig.requires("opencl", f"program:{PHASES}")
    def test_idle_time_has_the_reasons_of_the_launching_thread(self):
        profile, expected = self.check_phases([PHASES])
        on_cpu = sum(ns for frames, ns in self.folded("--weight", "cpu") if "compute_in_a" in ";".join(frames))
        self.assertAlmostEqual(on_cpu / expected["compute_in_a"], 1, delta=0.05)
        self.assertEqual(sum(ns for _, ns in self.folded("--weight", "cpu")),
                         sum(numbers[1] for work, numbers in profile.measured("HOST") if work.op == "cpu"))

    @rig.requires("opencl", "pyopencl")
    def test_idle_time_of_a_python_program(self):
        profile, _ = self.check_phases([rig.pyopencl_python(), PYTHON_PHASES])
        frames = [frame for work, _ in profile.measured("HOST") if work.op == "cpu"
                  for frame in profile.stacks.get(work.ustack, [])]
        self.assertTrue(any(frame.kind == "python" and frame.name.endswith("compute_in_a") for frame in frames))

    @rig.requires("opencl", f"program:{GUEST}")
    def test_a_program_sees_no_more_signals_and_interrupted_calls_than_without(self):
        plain = self.run_command([GUEST])
        self.assertEqual(plain.returncode, 0, plain.stderr.decode())
        run = self.run_command([rig.GPUPROF, "record", "--cpu=1000", "-o", self.profile_path, "--", GUEST])
        self.assertEqual(run.returncode, 0, run.stderr.decode())
        self.assertEqual(run.stdout.decode(), plain.stdout.decode())
        profile = rig.Profile(self.profile_path)
        self.assertEqual(self.notes(profile), [[TAKEN]])
        self.assertGreater(self.samples(profile), 100, "the program was hardly sampled")

    def record_guest(self, option, *record_options):
        run = self.run_command([rig.GPUPROF, "record", "--cpu=1000", *record_options, "-o", self.profile_path, "--",
                                GUEST, option])
        self.assertEqual(run.returncode, 0, run.stderr.decode())
        return run.stdout.decode(), rig.Profile(self.profile_path)

    @rig.requires("opencl", f"program:{GUEST}")
    def test_a_program_that_resets_all_signals_lives(self):
        text, profile = self.record_guest("--reset")
        self.assertEqual(text, "alive\n")
        self.assertEqual(self.notes(profile), [[TAKEN]])

    @rig.requires("opencl", f"program:{GUEST}")
    def test_a_program_that_uses_sigurg_is_sampled_by_another_signal(self):
        text, profile = self.record_guest("--urgent")
        self.assertEqual(text, "urgent signals 1\n")
        self.assertEqual(self.notes(profile), [])
        self.assertGreater(self.samples(profile), 20, "the program was hardly sampled")

    @rig.requires("opencl", f"program:{GUEST}")
    def test_a_program_that_takes_sigurg_later_gets_its_own_signals(self):
        text, profile = self.record_guest("--urgent-data", "--interval", "100ms")
        self.assertEqual(text, "urgent signals 5\n")
        self.assertEqual(self.notes(profile), [])
        start = int(profile.meta()["start_ns"][0])
        end = max(int(row[1]) - start for row in profile.of("WINDOW")) // 100_000_000
        cpu = {row[0] for row in profile.of("WORK") if row[10] == "cpu"}
        late = sum(int(row[2]) for row in profile.of("HOST") if row[1] in cpu and int(row[0]) > end - 6)
        self.assertGreater(late, 10, "samples have ended")

    @rig.requires("opencl", f"program:{GUEST}")
    def test_a_killed_program_with_too_many_threads_has_a_note_of_their_number(self):
        run = self.run_command([rig.GPUPROF, "record", "--cpu", "-o", self.profile_path, "--", GUEST, "--threads", "4200"])
        self.assertEqual(run.returncode, -9, run.stderr.decode())
        notes = [note for notes in self.notes(rig.Profile(self.profile_path)) for note in notes]
        found = [re.fullmatch(r"at least (\d+) threads have no CPU samples: more than 4096 threads ran at once", note)
                 for note in notes]
        self.assertTrue(found and all(found), notes)
        self.assertLessEqual(int(found[-1][1]), 110 + 20)

    @rig.requires("opencl", f"program:{GUEST}")
    def test_threads_without_a_timer_are_counted_once(self):
        command = f"ulimit -i 40 && exec {rig.GPUPROF} record --cpu -o {self.profile_path} -- {GUEST} --threads 100"
        run = self.run_command(["bash", "-c", command])
        self.assertEqual(run.returncode, -9, run.stderr.decode())
        notes = [note for notes in self.notes(rig.Profile(self.profile_path)) for note in notes]
        counts = [int(re.fullmatch(r"at least (\d+) threads have no CPU samples: Linux gave no timer.*", note)[1])
                  for note in notes]
        self.assertTrue(counts)
        self.assertLessEqual(counts[-1], 110)

    @rig.requires("opencl", f"program:{PHASES}")
    def test_a_program_in_its_own_pid_namespace_has_states(self):
        unshare = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
        if self.run_command([*unshare, "true"]).returncode != 0:
            self.skipTest("no pid namespaces")
        self.record_phases([*unshare, PHASES, "--rounds", "2"])
        leaves = {frames[-1] for frames, _ in self.folded("--weight", "idle")}
        self.assertLessEqual({"[sleeps]", "[waits: futex]"}, leaves)

    @rig.requires("opencl", f"program:{GUEST}")
    def test_the_sampling_thread_rests_while_nothing_is_recorded(self):
        sleeps = {}
        for options in ([], ["--start-paused"]):
            text, _ = self.record_guest("--sleeps", *options)
            before, during = map(int, re.fullmatch(r"sleeps (\d+) (\d+)\n", text).groups())
            self.assertGreater(before, 0, "the sampling thread is missing")
            sleeps[bool(options)] = during
        self.assertGreater(sleeps[False], 30)
        self.assertLess(sleeps[True], 10)

    @rig.requires("opencl", f"program:{PHASES}")
    def test_report_names_the_reasons_and_what_is_not_sampled(self):
        profile, _ = self.record_phases([PHASES, "--rounds", "3"])
        text = " ".join(self.gpuprof("report", "--full", self.profile_path).split())
        self.assertRegex(text, r"while idle: .*% on CPU in .*compute_for")
        self.assertRegex(text, r"[\d.]+% sleeps")
        self.assertRegex(text, r"idle time: [\d.]+% of .* is not explained by CPU samples")
        self.assertRegex(text, r"sleeps: wait for the event itself")
        self.assertNotIn("cgroup", text)  # nothing was throttled
        causes = json.loads(self.gpuprof("report", "--json", self.profile_path))["idle_causes"]
        self.assertTrue(next(cause for cause in causes if cause["what"] == "sleeps")["advice"].startswith("wait for"))
        self.assertEqual(sum(cause["ns"] for cause in causes), sum(int(row[3]) for row in profile.of("IDLE")))

    def requires_bpf(self):
        """Skips the test, with the reason, if this user or kernel does not allow --cpu=bpf."""
        run = self.run_command([rig.GPUPROF, "record", "--cpu=bpf", "-o", self.profile_path, "--", "true"])
        if run.returncode != 0:
            self.skipTest(run.stderr.decode().splitlines()[0])

    def check_blocks(self, command, leaves):
        """`leaves`: {function: the leaf of its time}. Checks that each leaf is below a frame of the function."""
        profile, expected = self.record_phases(command, hertz="bpf:500")
        self.check_conserved(profile)
        whole = expected["whole"]
        found = collections.Counter()
        for frames, ns in self.folded("--weight", "idle"):
            for function in leaves:
                if any(re.search(rf"\b{function}\b", frame) for frame in frames):
                    found[function, frames[-1]] += ns
        for function, leaf in leaves.items():
            self.assertAlmostEqual(found[function, leaf] / whole, expected[function] / whole, delta=POINTS,
                                   msg=f"{function}: expected {expected}, found {found}")
        return profile

    @rig.requires("opencl", f"program:{BLOCKS}")
    def test_bpf_shows_the_functions_that_block_a_thread(self):
        self.requires_bpf()
        profile = self.check_blocks([BLOCKS], {
            "compute_in_a": "[on CPU]", "sleep_in_b": "[sleeps]", "wait_for_lock": "[waits: futex]",
            "read_from_pipe": "[waits: read or write]", "read_cold_file": "[disk]",
            "touch_cold_mapping": "[page fault]"})
        woken = collections.Counter()
        for frames, ns in self.folded("--weight", "idle"):
            if frames[-1] == "[waits: futex]" and any("wait_for_lock" in frame for frame in frames):
                wakers = [i for i, frame in enumerate(frames) if frame.startswith("[woken by ")]
                at = wakers[0] if wakers else len(frames)
                woken[frames[at] if wakers else "", any("hold_lock" in frame for frame in frames[at:])] += ns
        self.assertGreater(woken["[woken by lock holder]", True] / sum(woken.values()), 0.95, woken)
        causes = json.loads(self.gpuprof("report", "--json", self.profile_path))["idle_causes"]
        named = sum(cause["ns"] for cause in causes if re.search("futex, woken by lock holder in .*hold_lock", cause["what"]))
        self.assertGreater(named / sum(woken.values()), 0.95, causes)
        sleeps = [frames for frames, _ in self.folded("--weight", "idle") if frames[-1] == "[sleeps]"]
        self.assertFalse(any("woken by" in frame for frames in sleeps for frame in frames), sleeps)
        kernel = {frame for frames, _ in self.folded("--weight", "idle") for frame in frames}
        self.assertTrue(any("nanosleep_[k]" in frame for frame in kernel), kernel)
        self.assertEqual(profile.meta()["off_cpu.lost"], ["0"])

    @rig.requires("opencl", "pyopencl")
    def test_bpf_shows_the_python_functions_that_block_a_thread(self):
        self.requires_bpf()
        profile = self.check_blocks([rig.pyopencl_python(), PYTHON_BLOCKS], {
            "compute_in_a": "[on CPU]", "sleep_in_b": "[sleeps]", "wait_for_lock": "[waits: futex]",
            "read_from_pipe": "[waits: read or write]"})
        frames = [frame for work, _ in profile.measured("HOST") if work.op == "off_cpu"
                  for frame in profile.stacks.get(work.ustack, [])]
        self.assertTrue(any(frame.kind == "python" and frame.name.endswith("sleep_in_b") for frame in frames))

    @rig.requires("opencl", f"program:{GAPS}")
    def test_bpf_shows_what_a_thread_does_in_short_gaps(self):
        self.requires_bpf()
        profile, expected = self.record_phases([GAPS, "--half", "1000"], hertz="bpf:1000")
        self.check_conserved(profile)
        found = collections.Counter()
        for frames, ns in self.folded("--weight", "idle"):
            found[next((name for name in expected if any(name in frame for frame in frames)), ""), frames[-1]] += ns
        whole = expected["whole"]
        message = f"expected {expected}, found {found}"
        self.assertAlmostEqual(found["sleep_in_b", "[sleeps]"] / whole, expected["sleep_in_b"] / whole, delta=0.01,
                               msg=message)
        # Samples divide the time on the CPU between functions: four standard errors are allowed.
        on_cpu = sum(ns for (_, leaf), ns in found.items() if leaf == "[on CPU]")
        share = expected["compute_in_a"] / on_cpu
        error = (max(share * (1 - share), 0.05) / self.samples(profile)) ** 0.5 * on_cpu
        self.assertLess(error, 0.02 * whole, "too few samples to tell anything")
        # Time on a CPU with no sample nearby has no function. It may be of any function.
        least, nameless = found["compute_in_a", "[on CPU]"], found["", "[on CPU]"]
        self.assertLess(nameless, 0.1 * whole, message)
        message = f"{message}, standard error {error}"
        self.assertGreater(expected["compute_in_a"], least - 0.01 * whole - 4 * error, message)
        self.assertLess(expected["compute_in_a"], least + nameless + 0.01 * whole + 4 * error, message)

    @rig.requires("opencl", f"program:{BLOCKS}")
    def test_bpf_watches_new_threads_when_others_have_ended(self):
        self.requires_bpf()
        profile, _ = self.record_phases([BLOCKS, "--waves", "4"], hertz="bpf")
        sleepers = {work.tid for work, _ in profile.measured("HOST") if work.op == "off_cpu" and work.name == "sleeps"}
        self.assertGreater(len(sleepers), 350, "at most 256 threads at once are watched")

    @rig.requires("opencl", f"program:{BLOCKS}")
    def test_bpf_watches_threads_after_many_that_ended_at_once(self):
        self.requires_bpf()
        profile, _ = self.record_phases([BLOCKS, "--brief", "600", "--waves", "1"], hertz="bpf")
        sleepers = {work.tid for work, _ in profile.measured("HOST") if work.op == "off_cpu" and work.name == "sleeps"}
        self.assertGreater(len(sleepers), 90, "threads that have ended are still watched")

    @rig.requires("opencl", f"program:{PHASES}")
    def test_bpf_in_a_pid_namespace(self):
        self.requires_bpf()
        unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
        if self.run_command([*unshare, "true"]).returncode != 0:
            self.skipTest("no pid namespaces")
        _, expected = self.record_phases([*unshare, PHASES, "--rounds", "3"], hertz="bpf")
        sleeps = sum(ns for frames, ns in self.folded("--weight", "idle") if frames[-1] == "[sleeps]")
        self.assertAlmostEqual(sleeps / expected["whole"], expected["sleep_in_b"] / expected["whole"], delta=POINTS)

    @rig.requires("opencl", f"program:{PHASES}")
    def test_bpf_without_rights_fails_before_the_program_runs(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to give up rights")
        drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if self.run_command([*drop, rig.GPUPROF, "--version"]).returncode != 0:
            self.skipTest("setpriv or gpuprof cannot run as another user")
        run = self.run_command([*drop, rig.GPUPROF, "record", "--cpu=bpf", "-o", "/dev/null", "--", "echo", "ran"])
        self.assertEqual((run.returncode != 0, run.stdout), (True, b""))
        self.assertRegex(run.stderr.decode(), r"error: --cpu=bpf is impossible here: .*\n +hint: ")

    @rig.requires("opencl", f"program:{PHASES}")
    def test_a_program_in_a_throttled_cgroup(self):
        self.check_throttled(99, 0.5, 1.05)

    @rig.requires("opencl", f"program:{PHASES}")
    def test_bpf_shows_where_a_program_is_throttled(self):
        self.requires_bpf()
        self.check_throttled("bpf", 0.8, 1.05)
        found = sum(ns for frames, ns in self.folded("--weight", "idle")
                    if frames[-1] == "[throttled]" and any("compute_in_a" in frame for frame in frames))
        self.assertGreater(found, 0)

    def check_throttled(self, hertz, least, most):
        """Records a program in a new cgroup of version 1; older_kernel_test.py has version 2. `least` and `most` limit the share
        of the throttled time that is found."""
        group = f"/sys/fs/cgroup/cpu/gpuprof_test_{os.getpid()}"
        try:
            os.mkdir(group)
            for name, value in (("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "25000")):
                with open(f"{group}/{name}", "r+", encoding="ascii") as file:  # creates no file
                    file.write(value)
        except OSError as error:
            if os.path.isdir(group):
                os.rmdir(group)
            self.skipTest(f"no cgroup can be made: {error}")
        try:
            enter = f"echo $$ > {group}/cgroup.procs && exec {PHASES} --rounds 4"
            profile, _ = self.record_phases(["sh", "-c", enter], hertz=hertz)
            with open(f"{group}/cpu.stat", encoding="ascii") as file:
                throttled = int(re.search(r"throttled_time (\d+)", file.read())[1])
        finally:
            os.rmdir(group)
        self.check_conserved(profile)
        found = sum(ns for frames, ns in self.folded("--weight", "idle") if frames[-1] == "[throttled]")
        print(f"throttled for {throttled / 1e9:.2f} s, found {found / 1e9:.2f} s")
        self.assertGreater(found, least * throttled)
        self.assertLess(found, most * throttled)

    @rig.requires("opencl", f"program:{PHASES}")
    def test_options_that_exclude_each_other(self):
        for options in (["--stacks", "fp"], ["--stacks", "none"], ["--max-overhead", "2"], ["--cpu=0"], ["--cpu=x"],
                        ["--cpu=bpf:0"], ["--cpu=bpfx"]):
            run = self.run_command([rig.GPUPROF, "record", "--cpu", *options, "--", PHASES])
            self.assertEqual(run.returncode, 2, options)

    @rig.requires("opencl", f"program:{PHASES}")
    def test_without_the_option_idle_time_belongs_to_the_next_launch(self):
        self.record([PHASES, "--rounds", "1"])
        leaves = {frames[-1] for frames, _ in self.folded("--weight", "idle")}
        self.assertIn("[idle before empty]", leaves)
        self.assertFalse({"[on CPU]", "[not sampled]", "[sleeps]"} & leaves)


if __name__ == "__main__":
    rig.main()
