#!/usr/bin/env python3
"""Tests sources in the recorder's own process: their launches, work and samples are in the profile, and each source is
started, enabled, disabled and stopped as promised. scripted_source.cpp reports the events."""

import collections
import os
import re
import signal
import subprocess

import rig

RECORDER = os.environ["RECORD_SOURCES"]
TARGET = os.environ["SOURCES_TARGET"]

# What `flame` prints for one round: the events that the sources report each time that recording is enabled.
NAME = "sources_target"
SAXPY = ("epoch", "run_model", "train (train.py:7)", "submit_step", "saxpy_[G]")
REDUCE = ("run_model", "copy_back", "reduce(float const*, int)_[G]")
NOBODY = ("[no CPU stack]", "saxpy_[G]")
IN_SAXPY = ("saxpy (kernels.cu:12)_[G]", "fused (math.h:5)_[G]", "FFMA R1, R2, R3, R4_[g]")
IN_REDUCE = ("reduce(float const*, int) (kernels.cu:30)_[G]", "LDG.E R0, [R2]_[g]")
TIMES = {(NAME, *SAXPY): 1000, (NAME, *REDUCE): 500}
SAMPLES = {
    (NAME, *SAXPY, *IN_SAXPY, "long_scoreboard_[g]", "0x40_[g]"): 5,
    (NAME, *SAXPY, *IN_SAXPY, "selected_[g]", "0x40_[g]"): 3,
    (NAME, *REDUCE, *IN_REDUCE, "long_scoreboard_[g]", "0x10_[g]"): 6,
    (NAME, *NOBODY, *IN_SAXPY, "selected_[g]", "0x40_[g]"): 13,  # 7 of these are from the second source
}
DROPPED = 11
ESTIMATED = 2
WHILE_OFF = 13
NO_LAUNCH = 6


def times(factor, weights):
    return {stack: factor * weight for stack, weight in weights.items()}


class Sources(rig.RuntimeTest):
    def command(self, *options, until="second.round1", profile=None):
        """Returns the command that records the target. The target ends once the file `until` exists."""
        return [RECORDER, self.folder, profile or self.profile_path, *options, "--", TARGET, self.folder, until]

    def mark(self, name):
        return os.path.join(self.folder, name)

    def forget_marks(self):
        for name in os.listdir(self.folder):
            if name == "ready" or name.startswith(("sampler.", "second.")):
                os.unlink(self.mark(name))

    def wait_for_mark(self, name):
        self.assertTrue(rig.wait_for(lambda: os.path.exists(self.mark(name)), pause=0.01), name)

    def record_once(self, *options, profile=None):
        run = self.run_command(self.command(*options, profile=profile))
        stderr = run.stderr.decode()
        self.assertEqual(run.returncode, 0, stderr)
        return rig.Profile(profile or self.profile_path), stderr

    def flame(self, path, *options):
        stacks = rig.parse_folded(self.gpuprof("flame", "-i", path, *options))
        self.assertEqual(len(stacks), len({tuple(frames) for frames, _ in stacks}))
        return {tuple(frames): weight for frames, weight in stacks}

    def assert_rounds(self, path, rounds):
        """Checks that the commands' output and END have the sums of this many rounds."""
        self.assertEqual(self.flame(path, "--unit", "ns"), times(rounds, TIMES))
        self.assertEqual(self.flame(path, "--weight", "samples"), times(rounds, SAMPLES))
        profile = rig.Profile(path)
        end = profile.end()
        self.assertEqual(end["samples"], rounds * sum(SAMPLES.values()))
        self.assertEqual(end["samples"], sum(int(row[5]) for row in profile.of("EUSTALL")))
        self.assertEqual(end["launches"], rounds * 2)
        self.assertEqual(end["gpu_records"], rounds * 2)
        self.assertEqual(end["gpu_ns"], rounds * sum(TIMES.values()))
        self.assertEqual(end["with_stack"], rounds * 2)
        self.assertEqual(end["lost"], rounds * DROPPED)
        self.assertEqual(profile.losses(), {"samples_dropped": rounds * DROPPED})
        self.assertEqual(profile.coverage()["samples_without_launch"], rounds * NO_LAUNCH)

    def test_all_reported_events_are_in_the_profile(self):
        profile, stderr = self.record_once()
        self.assert_rounds(self.profile_path, 1)
        self.assertIn(f"{sum(SAMPLES.values())} samples", stderr)
        self.assertIn(f"samples_dropped {DROPPED}", stderr)
        self.assertIn(f"{NO_LAUNCH} (22.23%) samples without a known launch", stderr)
        # Both sources report the same GPU code, so the profile has one module.
        self.assertEqual(len(profile.of("GPU_MODULE")), 1)
        self.assertEqual(len(profile.of("GPU_PLACE")), 2)
        self.assertEqual(len(profile.of("DEVICE")), 2)
        text = profile.strings()
        self.assertEqual({(int(row[1]), text[row[2]]) for row in profile.of("SAMPLING")}, {(512, "cycles"), (1000, "ns")})
        frames = {row[1:5] + row[5:7] for row in map(tuple, profile.of("FRAME")) if row[1] == "gpu"}
        self.assertEqual({(text[name], text[file], int(line), text[module], text[build_id])
                          for _, name, file, line, module, build_id in frames},
                         {("saxpy", "kernels.cu", 12, "kernels.cubin", "c0ffee"),
                          ("fused", "math.h", 5, "kernels.cubin", "c0ffee"),
                          ("reduce(float const*, int)", "kernels.cu", 30, "kernels.cubin", "c0ffee")})
        self.assertEqual(sum(int(row[5]) for row in profile.of("EUSTALL") if row[6] == "1"), ESTIMATED)

    def test_samples_belong_to_the_work_that_was_sampled(self):
        profile, _ = self.record_once()
        timed = {row[1] for row in profile.of("GPU")}
        counts = collections.Counter()
        for row in profile.of("EUSTALL"):
            work = profile.works[row[1]]
            counts[(work.name, work.thread, work.tid != 0, work.stream, row[1] in timed)] += int(row[5])
        self.assertEqual(counts, {("saxpy", "worker", True, 7, True): 8,
                                  ("reduce(float const*, int)", "worker", True, 7, True): 6,
                                  ("saxpy", "", False, 7, False): NO_LAUNCH,
                                  ("saxpy", "", True, 0, False): 7})

    def test_report_shows_stall_reasons(self):
        self.record_once("--whole")
        report = self.gpuprof("report", self.profile_path)
        self.assertRegex(report, r"\n +21 +saxpy\n")
        self.assertRegex(report, r"76\.19% +54\.91% +89\.37% +16 +selected\n")
        self.assertRegex(report, r"23\.81% +10\.63% +45\.09% +5 +long_scoreboard\n")
        self.assertRegex(report, r"\n +6 +reduce\n +33\.34% of them attributed by estimate\n")
        self.assertRegex(report, r"59\.26% +16 +selected\n")
        self.assertRegex(report, r"40\.74% +11 +long_scoreboard\n")
        self.assertIn("saxpy+0x40: FFMA R1, R2, R3, R4 at fused (math.h:5)",
                      self.gpuprof("report", "--top", "10", self.profile_path))

    def test_report_and_dump_show_the_samples(self):
        self.record_once()
        report = self.gpuprof("report", self.profile_path)
        samples = sum(SAMPLES.values())
        self.assertIn(f"{samples} stall samples", report)
        self.assertIn(f"{NO_LAUNCH} without a known launch (22.23%)", report)
        self.assertRegex(report, r"77\.78% +21 +saxpy\n")
        self.assertRegex(report, r"22\.22% +6 +reduce\n")
        # If more than a hundredth of the samples was dropped, the report gives no stall reasons. The profile still has the samples.
        self.assertIn(f"{100 * DROPPED / (samples + DROPPED):.2f}% of the samples were dropped, "
                      "too many to say what kernels waited for", report)
        self.assertNotIn("long_scoreboard", report)
        dump = self.gpuprof("dump", self.profile_path)
        counts = collections.Counter()
        for line in dump.splitlines():
            if line.startswith("eustall "):
                fields = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', line))
                counts[fields["function"], fields["offset"], fields["insn"], fields["reason"],
                       fields.get("estimated", "no")] += int(fields["count"])
        saxpy = ('"saxpy"', "0x40", '"FFMA R1, R2, R3, R4"')
        reduce = ('"reduce(float const*, int)"', "0x10", '"LDG.E R0, [R2]"')
        self.assertEqual(counts, {(*saxpy, '"selected"', "no"): 16, (*saxpy, '"long_scoreboard"', "no"): 5,
                                  (*reduce, '"long_scoreboard"', "no"): 4,
                                  (*reduce, '"long_scoreboard"', "yes"): ESTIMATED})

    def test_merging_two_recordings_doubles_the_sums(self):
        other = self.mark("other.txt")
        self.record_once()
        self.forget_marks()
        self.record_once(profile=other)
        merged = self.mark("merged.txt")
        self.gpuprof("merge", "-o", merged, self.profile_path, other)
        self.assert_rounds(merged, 2)
        self.assertEqual(rig.Profile(merged).meta()["samples.while_off"], [str(2 * WHILE_OFF)])

    def test_pausing_and_resuming_switches_the_sources(self):
        with subprocess.Popen(self.command("--paused", until="finish"), cwd=self.folder, stderr=subprocess.PIPE) as run:
            self.wait_for_mark("ready")
            for number in (1, 2):
                run.send_signal(signal.SIGUSR1)
                self.wait_for_mark(f"second.round{number}")
                run.send_signal(signal.SIGUSR2)
                self.wait_for_mark(f"second.off{number}")
            with open(self.mark("finish"), "w", encoding="ascii"):
                pass
            stderr = run.communicate(timeout=60)[1].decode()
        self.assertEqual(run.returncode, 0, stderr)
        self.assert_rounds(self.profile_path, 2)
        profile = rig.Profile(self.profile_path)
        self.assertEqual(len(profile.of("WINDOW")), 2)
        self.assertEqual(profile.meta()["samples.while_off"], [str(2 * WHILE_OFF)])
        self.assertEqual(profile.meta()["gpu_records.while_off"], ["2"])

    def test_a_source_that_cannot_start_ends_the_recording_before_it_begins(self):
        run = self.run_command(self.command("--fail"))
        self.assertEqual(run.returncode, 1)
        stderr = run.stderr.decode()
        self.assertIn("second: the device is used by somebody else", stderr)
        self.assertIn("wait until it is free", stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["sampler.stopped"])  # no profile, as no target was started

    def test_sources_are_stopped_if_the_target_is_killed(self):
        with subprocess.Popen(self.command(until="never"), cwd=self.folder, stderr=subprocess.PIPE) as run:
            self.wait_for_mark("second.round1")
            with open(self.mark("ready"), encoding="ascii") as file:
                os.kill(int(file.read().split()[0]), signal.SIGKILL)
            stderr = run.communicate(timeout=60)[1].decode()
        self.assertEqual(run.returncode, 128 + signal.SIGKILL, stderr)
        for name in ("sampler", "second"):
            self.assertTrue(os.path.exists(self.mark(f"{name}.stopped")), name)
        self.assert_rounds(self.profile_path, 1)

    @rig.requires("ebpf")
    def test_a_source_can_walk_its_own_stacks_beside_the_bpf_engine(self):
        profile, _ = self.record_once("--bpf")
        self.assertEqual(profile.meta()["stack_engine"], ["bpf"])
        self.assert_rounds(self.profile_path, 1)

    def test_without_a_stack_engine_the_profile_has_no_stacks(self):
        profile, _ = self.record_once("--none")
        self.assertEqual(profile.of("USTACK"), [])
        self.assertEqual(profile.end()["samples"], sum(SAMPLES.values()))


if __name__ == "__main__":
    rig.main()
