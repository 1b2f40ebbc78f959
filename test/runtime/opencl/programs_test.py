#!/usr/bin/env python3
"""Records third-party programs, and passes gpuprof's output to third-party tools."""

import glob
import os
import re
import shutil
import time

import rig

RENDERERS = ("/usr/share/perl5/Devel/NYTProf/flamegraph.pl",)  # Brendan Gregg's script from the package libdevel-nytprof-perl


class Programs(rig.RuntimeTest):
    def time_namespace(self, offset):
        """Returns a command prefix that shifts CLOCK_MONOTONIC by `offset` seconds. Skips the test if that is impossible."""
        prefix = ["unshare", "--time", "--monotonic", offset, "--fork"]
        if self.run_command([*prefix, "true"]).returncode != 0:
            self.skipTest("no time namespaces here")
        return prefix

    def counts(self, *options):
        return rig.parse_folded(self.gpuprof("flame", "-i", self.profile_path, "--weight", "count", *options))

    @rig.requires("opencl", "program:clpeak")
    def test_clpeak_is_recorded(self):
        # Limits the run time of clpeak, which grows with both numbers.
        small = {"POCL_MAX_WORK_GROUP_SIZE": "64", "POCL_MAX_PTHREAD_COUNT": "1"}
        profile, stderr = self.record(["clpeak", "--compute-sp", "--kernel-latency"], timeout=300,
                                      env={**os.environ, **small})
        self.assertGreater(profile.end()["gpu_ns"], 0, stderr)
        self.assert_conserved(profile)
        self.assertTrue(any(row[2].startswith("compute_sp") for row in profile.gpu()), stderr)

    @rig.requires("opencl", "pyopencl")
    def test_pyopencl_is_recorded(self):
        profile, stderr = self.record([rig.pyopencl_python(), rig.PYTHON_EXAMPLE])
        self.assertGreater(profile.end()["gpu_ns"], 0, stderr)
        self.assert_conserved(profile)

    @rig.requires("opencl")
    def test_recording_does_not_change_a_programs_output(self):
        plain = self.run_command([rig.EXAMPLE])
        run = self.run_command([rig.GPUPROF, "record", "-q", "-o", self.profile_path, "--", rig.EXAMPLE])
        self.assertEqual((run.returncode, run.stdout), (plain.returncode, plain.stdout))

    @rig.requires("opencl")
    def test_stacks_are_complete_after_the_main_thread_has_ended(self):
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--",
                                os.environ["GPUPROF_OPENCL_THREADS"], "2", "20", "1", "--main-ends"])
        self.assertEqual(run.returncode, 5, run.stderr)
        stacks = self.counts()
        self.assertEqual(sum(count for _, count in stacks), 40)
        for stack, _ in stacks:
            self.assertTrue(any("launch_all" in frame for frame in stack), stack)

    @rig.requires("opencl", "root", "program:unshare")
    def test_times_of_another_time_namespace_are_on_the_recorders_clock(self):
        for offset in ("3600", "-100"):  # seconds; an offset that would make the clock negative is refused
            in_namespace = self.time_namespace(offset)
            profile, stderr = self.record([*in_namespace, rig.EXAMPLE], ["--timeline"])
            self.assert_conserved(profile)
            self.assertNotIn("lost:", stderr)
            start_ns = int(profile.meta()["start_ns"][0])
            times = [int(row[2]) for row in profile.of("EVENT")]
            self.assertTrue(times)
            self.assertTrue(all(0 <= time - start_ns < 120e9 for time in times), (offset, start_ns, times[:3]))
            self.assertEqual(self.counts("--from", "0s", "--to", "60s"), self.counts())

    @rig.requires("opencl", "root", "program:unshare")
    def test_a_recorder_in_a_time_namespace_uses_the_clock_of_ebpf(self):
        in_namespace = self.time_namespace("3600")
        run = self.run_command([*in_namespace, rig.GPUPROF, "record", "--stacks", "bpf", "-o", self.profile_path, "--",
                                rig.EXAMPLE])
        self.assertEqual(run.returncode, 0, run.stderr)
        profile = rig.Profile(self.profile_path)
        self.assert_conserved(profile)
        self.assertLess(abs(int(profile.meta()["start_ns"][0]) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)), 120e9)

    @rig.requires("opencl")
    def test_a_loader_without_layers_is_named(self):
        # Makes an OpenCL loader that supports no layers. Some vendors install such a loader. GPU work that is submitted
        # through it is not recorded.
        loader = re.search(r"libOpenCL\.so\.1 => (\S+)", self.run_command(["ldd", rig.EXAMPLE]).stdout.decode()).group(1)
        with open(loader, "rb") as file:
            content = file.read()
        self.assertIn(b"OPENCL_LAYERS", content)
        path = os.path.join(self.folder, "libOpenCL.so.1")
        with open(path, "wb") as file:
            file.write(content.replace(b"OPENCL_LAYERS", b"OPENCL_ABSENT"))
        run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--", rig.EXAMPLE],
                               env={**os.environ, "LD_LIBRARY_PATH": self.folder})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(f"not seen here: opencl (the OpenCL loader does not support layers: {path})", run.stderr.decode())


class OtherRenderer(rig.RuntimeTest):
    @rig.requires("opencl", "program:perl")
    def test_flamegraph_pl_draws_the_folded_output(self):
        renderers = [path for path in RENDERERS + tuple(glob.glob("/opt/*/flamegraph.pl")) if os.path.exists(path)]
        if not renderers:
            self.skipTest("no flamegraph.pl (package libdevel-nytprof-perl)")
        self.record([rig.EXAMPLE])
        folded_path = os.path.join(self.folder, "out.folded")
        self.gpuprof("flame", "-i", self.profile_path, "-o", folded_path)
        run = self.run_command(["perl", renderers[0], "--colors=java", folded_path])
        svg, complaints = run.stdout.decode("utf-8", "replace"), run.stderr.decode("utf-8", "replace")
        self.assertEqual((run.returncode, complaints), (0, ""))
        with open(folded_path, encoding="utf-8") as file:
            stacks = rig.parse_folded(file.read())
        total = sum(value for _, value in stacks)
        # The "all" rectangle holds the sum of all lines that the renderer understood.
        match = re.search(r"<title>all \(([\d,]+) samples, 100%\)", svg)
        self.assertIsNotNone(match, svg[:2000])
        self.assertEqual(int(match.group(1).replace(",", "")), total)


class Unprivileged(rig.RuntimeTest):
    NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")

    @rig.requires("opencl", "root", "program:setpriv")
    def test_no_rights_are_needed(self):
        os.chmod(self.folder, 0o777)
        if self.run_command([*self.NOBODY, rig.EXAMPLE], env=self.environment()).returncode != 0:
            self.skipTest("the build folder is not readable for other users")
        run = self.run_command([*self.NOBODY, rig.GPUPROF, "record", "-o", "p.txt", "--", rig.EXAMPLE],
                               env=self.environment())
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertEqual(run.returncode, 0, stderr)
        self.assertNotIn("warning", stderr)
        self.profile_path = os.path.join(self.folder, "p.txt")
        profile = rig.Profile(self.profile_path)
        self.assertGreater(profile.end()["gpu_ns"], 0)
        self.assertEqual(profile.end()["with_stack"], profile.end()["gpu_records"], stderr)
        self.assertEqual(profile.meta()["stack_engine"], ["inproc"])
        self.assert_conserved(profile)
        for frames, _ in self.folded():
            self.assertIn("main", frames)

    @rig.requires("opencl", "root", "program:setpriv")
    def test_an_unreadable_program_is_named(self):
        os.chmod(self.folder, 0o777)
        if self.run_command([*self.NOBODY, rig.EXAMPLE], env=self.environment()).returncode != 0:
            self.skipTest("the build folder is not readable for other users")
        program = os.path.join(self.folder, "unreadable")
        shutil.copy(rig.EXAMPLE, program)
        os.chmod(program, 0o711)
        run = self.run_command([*self.NOBODY, rig.GPUPROF, "record", "-o", "p.txt", "--", program],
                               env=self.environment())
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertEqual(run.returncode, 0, stderr)
        self.assertEqual(stderr.count(f"cannot read {program}: permission denied"), 1, stderr)
        self.profile_path = os.path.join(self.folder, "p.txt")
        for frames, _ in self.folded():
            self.assertTrue(any(frame.startswith("[unreadable+0x") for frame in frames), frames)
            self.assertNotIn("[unknown]", frames)

    @rig.requires("opencl", "root", "program:setpriv")
    def test_a_stack_engine_without_rights_is_an_error_with_a_hint(self):
        os.chmod(self.folder, 0o777)
        for engine in ("bpf", "fp"):
            run = self.run_command([*self.NOBODY, rig.GPUPROF, "record", "--stacks", engine, "-o", "p.txt", "--",
                                    rig.EXAMPLE], env=self.environment())
            stderr = run.stderr.decode("utf-8", "replace")
            self.assertEqual(run.returncode, 1, stderr)
            self.assertRegex(stderr, r"root|sudo|cap_bpf")
            self.assertEqual(run.stdout, b"", "the command was run")

    @rig.requires("opencl", "root")
    def test_user_option_runs_the_target_as_that_user(self):
        os.chmod(self.folder, 0o777)
        # PoCL's cache must belong to the user `nobody`, so the environment names a separate cache folder.
        profile, _ = self.record(["sh", "-c", 'id -u >uid; exec "$0"', rig.EXAMPLE], options=["--user", "nobody"],
                                 env=self.environment())
        with open(os.path.join(self.folder, "uid"), encoding="ascii") as file:
            self.assertEqual(int(file.read()), 65534)
        self.assertGreater(profile.end()["gpu_ns"], 0)
        self.assert_conserved(profile)

    @rig.requires("opencl", "root", "ebpf")
    def test_user_option_keeps_the_stacks(self):
        os.chmod(self.folder, 0o777)
        profile, stderr = self.record([rig.EXAMPLE], options=["--user", "nobody"], env=self.environment())
        self.assertEqual(profile.end()["with_stack"], profile.end()["gpu_records"], stderr)

    def environment(self):
        cache = os.path.join(self.folder, "pocl")
        os.makedirs(cache, exist_ok=True)
        os.chmod(cache, 0o777)
        return {**os.environ, "HOME": self.folder, "POCL_CACHE_DIR": cache}


if __name__ == "__main__":
    rig.main()
