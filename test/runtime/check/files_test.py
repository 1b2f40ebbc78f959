#!/usr/bin/env python3
"""`gpuprof check` on profiles: verdicts, exit codes, and input that must not be compared."""

import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

import made
import rig

PASS, REGRESSION, UNUSABLE, INCONCLUSIVE = 0, 1, 2, 125


class CheckFiles(rig.RuntimeTest):
    def side(self, name, runs=5, work=None, **facts):
        return [made.write(os.path.join(self.folder, f"{name}-{i}.txt"), work, seed=f"{name} {i}", **facts)
                for i in range(1, runs + 1)]

    @staticmethod
    def text_of(name):
        with open(name, encoding="utf-8") as file:
            return file.read()

    def check(self, *arguments, expect):
        run = self.run_command([rig.GPUPROF, "check", *arguments])
        out, err = run.stdout.decode(), run.stderr.decode()
        self.assertEqual(run.returncode, expect, f"{arguments}\n{out}\n{err}")
        self.assertNotIn("terminate called", err)
        return out, err

    def refused(self, *arguments, saying):
        out, err = self.check(*arguments, expect=UNUSABLE)
        self.assertEqual(out, "")
        self.assertRegex(err, saying)
        errors = [line for line in err.splitlines() if line.startswith("gpuprof: error")]
        self.assertEqual(len(errors), 1, err)

    def inconclusive(self, *arguments, saying):
        out, _ = self.check(*arguments, expect=INCONCLUSIVE)
        self.assertRegex(" ".join(out.split()), saying)
        return out

    def test_the_same_program_passes(self):
        self.check(*self.side("old"), "--", *self.side("new"), expect=PASS)

    def test_a_slower_kernel_is_named(self):
        out, _ = self.check(*self.side("old"), "--", *self.side("new", work=made.slower("kernel_7", 1.1)),
                            expect=REGRESSION)
        self.assertIn("kernel_7", out)
        self.assertNotIn("kernel_3", out)

    def test_changed_stall_shares_are_shown_beside_a_slower_kernel(self):
        before = {"kernel_7": {"long_scoreboard": 120, "barrier": 880}, "kernel_3": {"wait": 1000}}
        after = {"kernel_7": {"long_scoreboard": 380, "barrier": 620}, "kernel_3": {"wait": 500, "barrier": 500}}
        old = self.side("old", stalls=before)
        evidence = "stall shares: long_scoreboard 12.0% -> 38.0%, barrier 88.0% -> 62.0%"
        out, _ = self.check(*old, "--", *self.side("new", work=made.slower("kernel_7", 1.1), stalls=after),
                            expect=REGRESSION)
        self.assertIn(evidence, " ".join(out.split()))
        self.assertEqual(out.count("stall shares"), 1)
        # Stall shares do not affect the verdict.
        out, _ = self.check(*old, "--", *self.side("like", stalls=after), expect=PASS)
        self.assertNotIn("stall shares", out)
        # If too many samples were dropped, the output says so and shows no stall shares.
        out, _ = self.check(*old, "--", *self.side("lossy", work=made.slower("kernel_7", 1.1), stalls=after, dropped=25),
                            expect=REGRESSION)
        self.assertNotIn("stall shares", out)
        self.assertIn("too many of its stall samples were dropped", " ".join(out.split()))

    def test_several_outputs_can_be_written_at_once(self):
        names = {option: os.path.join(self.folder, f"out.{option}") for option in ("json", "markdown", "junit")}
        options = [word for option, name in names.items() for word in (f"--{option}", name)]
        out, _ = self.check(*options, "--annotations", *self.side("old"), "--",
                            *self.side("new", work=made.slower("kernel_7", 1.1)), expect=REGRESSION)
        self.assertIn("::error", out)
        for option, name in names.items():
            with open(name, encoding="utf-8") as file:
                self.assertIn("kernel_7", file.read().replace("\\", ""), option)
        with open(names["json"], encoding="utf-8") as file:
            self.assertEqual(json.load(file)["schema_version"], 1)

    def test_json_replaces_the_text_output(self):
        out, _ = self.check("--json", "-", *self.side("old"), "--", *self.side("new"), expect=PASS)
        json.loads(out)

    def test_existing_files_are_kept_and_written_files_are_reported(self):
        report = os.path.join(self.folder, "out.json")
        with open(report, "w", encoding="utf-8") as file:
            file.write("mine")
        _, err = self.check("--json", report, *self.side("old"), "--", *self.side("new"), expect=PASS)
        self.assertRegex(err, r"wrote .*out\.json, [0-9.]+ KiB")
        with open(report + ".old", encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")

    def test_compressed_profiles_give_the_same_output(self):
        old, new = self.side("old"), self.side("new", work=made.slower("kernel_7", 1.1))
        plain = self.check(*old, "--", *new, expect=REGRESSION)[0]
        for name in old + new:
            subprocess.run(["gzip", name], check=True)
        packed = self.check(*(f"{name}.gz" for name in old), "--", *(f"{name}.gz" for name in new), expect=REGRESSION)[0]
        self.assertEqual(packed, plain)

    # The following tests give input that `check` must reject, with exit code 2 and one clear line.

    def test_no_profile_is_overwritten(self):
        old, new = self.side("old", runs=3), self.side("new", runs=3)
        other = self.side("other", runs=1)[0]
        kept = os.path.join(self.folder, "out.old")
        os.rename(new[0], kept)
        new[0] = kept
        with open(kept[: -len(".old")], "w", encoding="utf-8") as file:
            file.write("what would be kept in the place of a profile that is read")
        texts = {name: self.text_of(name) for name in [*old, *new, other]}
        for option in ("--json", "--markdown", "--junit"):
            for name, saying in ((old[0], "it is"), (new[1], "it is"), (other, "it is a profile"),
                                 (kept[: -len(".old")], "would replace")):
                with self.subTest(option=option, name=name):
                    self.refused(option, name, *old, "--", *new, saying=f"cannot write .*{saying}")
        self.refused("--json", old[0], "--kernel", ".", "--max", "1s", *old, saying="cannot write .*it is")
        self.assertEqual({name: self.text_of(name) for name in texts}, texts)

    def test_unusable_input_is_an_error_in_the_junit_file(self):
        old = self.side("old", runs=3)
        report, text = os.path.join(self.folder, "report.xml"), os.path.join(self.folder, "text.txt")
        with open(text, "w", encoding="utf-8") as file:
            file.write("not a profile <&>")
        for new in (text, old[0], os.path.join(self.folder, "missing.txt")):
            with self.subTest(new=new):
                self.refused("--junit", report, *old, "--", new, saying=re.escape(new))
                suite = xml.etree.ElementTree.parse(report).getroot().find("testsuite")
                self.assertEqual({name: suite.get(name) for name in ("tests", "errors", "failures")},
                                 {"tests": "1", "errors": "1", "failures": "0"})
                self.assertIn(new, suite.find("testcase/error").get("message"))
                os.remove(report)
        self.refused("--junit", text, *old, "--", text, saying="text.txt")
        self.assertEqual(self.text_of(text), "not a profile <&>")

    def test_wrong_arguments_are_rejected_with_a_reason(self):
        old = self.side("old", runs=1)[0]
        for arguments, saying in (((), "nothing to check"), ((old,), "two sides"), ((old, "--"), "two sides"),
                                  (("--", old), "two sides"), ((old, "--", old, "--", old), "two sides"),
                                  (("--nonsense", old, "--", old), "unknown option '--nonsense'"),
                                  (("--save", old, "--", old), "--save without --baseline"),
                                  (("-o", "x", old, "--", old), "--runs"),
                                  (("--max", "250ms", old), "a budget is"),
                                  (("--function", "x", "--max", "soon", old), "is not a time"),
                                  (("--function", "x", "--max", "0", old), "--max 0"),
                                  (("--function", "(", "--max", "1s", old), "--function"),
                                  (("--json", "a", "--junit", "a", old, "--", old), "the same name"),
                                  (("--runs", "3", "--", "true"), "two commands"),
                                  (("--self", "4", "--", "true", "---", "true"), "one command"),
                                  (("--json", "a", "--junit", "./a", old, "--", old), "the same name"),
                                  (("--json", "-", "--annotations", old, "--", old), "mixed.*--annotations go there"),
                                  (("--json", "-", "--junit", "-", old, "--", old), "mixed on standard output"),
                                  (("--json", "-", "--markdown", "/dev/stdout", old, "--", old), "mixed on standard"),
                                  (("--junit", "/nonexistent/a", "--self", "4", "--", "true"), "/nonexistent/a"),
                                  (("--markdown", "/tmp", "--self", "4", "--", "true"), "/tmp"),
                                  (("-", "--", "-"), "standard input is named more than once"),
                                  (("--thresholds", "-", old, "--", "-"), "standard input is named more than once"),
                                  (("--baseline", "kept", "--save", "-"), "--save cannot keep standard input"),
                                  (("--commit", "a", old, "--", old), "--commit applies only to"),
                                  (("--old-commit", "a", old, "--", old), "--old-commit applies"),
                                  (("--runs", "3", "--record=--commit=x", "--", "a", "---", "b"), "both sides the same commit"),
                                  (("--thresholds", "/nonexistent", old, "--", old), "/nonexistent")):
            with self.subTest(arguments=arguments):
                self.refused(*arguments, saying=saying)

    def test_a_thresholds_file_above_the_size_limit_is_rejected(self):
        old = self.side("old", runs=1)[0]
        line = "kernel_7 20% a reason\n"
        large = os.path.join(self.folder, "large")
        with open(large, "w", encoding="utf-8") as file:
            file.write("#" * ((1 << 20) - len(line) - 1) + "\n" + line)
        # A file just below the size limit is read to its last line.
        self.check("--thresholds", large, *self.side("old"), "--", *self.side("new", work=made.slower("kernel_7", 1.1)),
                   expect=PASS)
        with open(large, "a", encoding="utf-8") as file:
            file.write("\n")
        self.refused("--thresholds", large, old, "--", old, saying="large has more than 1.00 MiB")
        self.refused("--thresholds", "/dev/zero", old, "--", old, saying="/dev/zero: it is neither a file nor a pipe")
        self.refused("--thresholds", "/proc/self/mem", old, "--", old, saying="cannot read /proc/self/mem")

    def test_errors_about_standard_input_name_it(self):
        old, new = self.side("old"), self.side("new", runs=4)
        cut = made.write(os.path.join(self.folder, "cut.txt"), seed="cut", whole=False)
        with open(cut, "rb") as file:
            run = subprocess.run([rig.GPUPROF, "check", *old, "--", *new, "-"], cwd=self.folder, stdin=file,
                                 capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, INCONCLUSIVE, run.stderr)
        self.assertIn("stdin: it is cut short", run.stdout)

    def test_a_file_that_is_not_a_profile_is_rejected(self):
        old = self.side("old")
        garbage = os.path.join(self.folder, "garbage")
        with open(garbage, "wb") as file:
            file.truncate(1 << 30)
        empty = os.path.join(self.folder, "empty")
        with open(empty, "wb"):
            pass
        for name, saying in ((garbage, "garbage"), (empty, "empty"), (self.folder, "[Dd]irectory"),
                             (os.path.join(self.folder, "none"), "No such file"), ("/dev/null", "/dev/null")):
            with self.subTest(name=name):
                self.refused(*old, "--", name, saying=saying)

    def test_another_format_version_is_rejected(self):
        old, newer = self.side("old"), self.side("newer", version="4.0")
        self.refused(*old, "--", *newer, saying="4.0")

    def test_a_profile_without_gpu_times_is_rejected(self):
        self.refused(*self.side("old"), "--", *self.side("counted", counts_only=True), saying="no GPU times")

    def test_a_profile_without_gpu_work_is_rejected(self):
        self.refused(*self.side("old"), "--", *self.side("idle", work={}), saying="no GPU work")

    def test_a_copy_is_not_a_second_run(self):
        old, new = self.side("old"), self.side("new")
        copy, link = os.path.join(self.folder, "copy.txt"), os.path.join(self.folder, "link.txt")
        shutil.copy(new[0], copy)
        os.link(new[0], link)
        for again in (copy, link, new[0]):
            self.refused(*old, "--", *new, again, saying="the same recording as .*new-1.txt")
        self.refused(old[0], "--", old[0], saying="the same recording")

    # In the following tests the result is inconclusive: `check` neither passes nor reports a regression.

    def test_one_run_per_side_is_inconclusive(self):
        self.inconclusive(*self.side("old", runs=1), "--", *self.side("new", runs=1), saying="run")

    def test_another_device_or_driver_is_inconclusive(self):
        old = self.side("old")
        self.inconclusive(*old, "--", *self.side("device", device="NVIDIA A100"), saying="NVIDIA A100")
        self.inconclusive(*old, "--", *self.side("driver", driver="NVIDIA 570.1"), saying="570.1")

    def test_cut_lossy_and_failed_runs_are_inconclusive(self):
        old, new = self.side("old"), self.side("new", runs=4)
        for facts, saying in (({"whole": False}, "cut"), ({"lost": 200}, "lost|loss"), ({"exit_status": "3"}, "3")):
            with self.subTest(facts=facts):
                last = made.write(os.path.join(self.folder, "last.txt"), seed=str(facts), **facts)
                out = self.inconclusive(*old, "--", *new, last, saying=saying)
                self.assertIn("last.txt", out)

    def test_runs_with_more_failed_launches_than_the_other_side_are_inconclusive(self):
        old, new = self.side("old", failed=0), self.side("new", failed=10_800)
        self.inconclusive(*old, "--", *new, saying="new-1.txt: 90.00% of its launches failed, but 0.00% of the other")
        run = self.run_command([rig.GPUPROF, "diff", old[0], new[0]])
        self.assertIn("90.00% of its launches failed", run.stderr.decode())
        self.check(*self.side("a", failed=10_800), "--", *self.side("b", failed=10_800), expect=PASS)

    def test_max_loss_allows_a_loss(self):
        self.check("--max-loss", "50", *self.side("old"), "--", *self.side("new", lost=200), expect=PASS)

    def test_two_different_programs_are_inconclusive(self):
        others = {(("main", "other"), f"something_else_{i}"): (3 + i, 1_000_000 * (i + 1)) for i in range(12)}
        self.inconclusive(*self.side("old"), "--", *self.side("other", work=others), saying="program")

    def test_a_run_that_cannot_be_compared_does_not_become_the_baseline(self):
        kept = os.path.join(self.folder, "kept")
        keep = ["--baseline", kept, "--save", "--commit"]
        two = self.side("two", runs=2)
        for name, facts, saying in (("cut", {"whole": False}, "cut"), ("lossy", {"lost": 200}, "lost"),
                                    ("failed", {"exit_status": "3"}, "failed")):
            last = made.write(os.path.join(self.folder, f"{name}.txt"), seed=name, **facts)
            self.inconclusive(*keep, "a", *two, last, saying=f"not kept: .*{name}.txt: .*{saying}")
            self.assertFalse(os.path.exists(kept))
        self.inconclusive(*keep, "a", two[0], saying="not kept: 1 run is too few")
        self.assertFalse(os.path.exists(kept))
        _, err = self.check(*keep, "a", *self.side("old"), expect=INCONCLUSIVE)
        self.assertIn("kept as a baseline for later commits: ", err)
        noisy = [made.write(os.path.join(self.folder, f"noisy-{i}.txt"), seed=f"noisy {i}", noise=0.4) for i in range(3)]
        _, err = self.check(*keep, "noisy", *noisy, expect=INCONCLUSIVE)
        self.assertIn("not kept as a baseline, because these runs did not pass", err)
        _, err = self.check(*keep, "b", *self.side("new"), expect=PASS)
        self.assertIn("the baseline is commit a", err)
        self.assertIn("kept as a baseline: ", err)

    def test_a_budget_limits_functions_and_kernels(self):
        runs = self.side("run", runs=3, noise=0)
        for option, regex, limit, expect in (("--function", "^layer1$", "400ms", PASS),
                                             ("--function", "^layer1$", "200ms", REGRESSION),
                                             ("--function", "^main$", "1s", PASS),
                                             ("--function", "^main$|^layer1$", "0.9s", REGRESSION),
                                             ("--kernel", "^kernel_0$", "40ms", PASS),
                                             ("--kernel", "^kernel_0$", "39999us", REGRESSION)):
            with self.subTest(regex=regex, limit=limit):
                self.check(option, regex, "--max", limit, *runs, expect=expect)
        out, _ = self.check("--kernel", "kernel_0", "--max", "1s", "--json", "-", *runs, expect=PASS)
        self.assertEqual([run["ns"] for run in json.loads(out)["runs"]], [40_000_000] * 3)

    def test_runs_that_were_recorded_differently_are_not_judged(self):
        def window(name, ms, **facts):
            return self.side(name, window_ns=ms * 1_000_000,
                             meta=[("recording.window", f"--duration {ms} ms"), *facts.pop("meta", [])], **facts)

        longer = {key: (count * 3 // 2, ns * 3 // 2) for key, (count, ns) in made.KERNELS.items()}
        short, other, long = window("short", 400), window("other", 401), window("long", 600, work=longer)
        complete = self.side("complete", window_ns=400_000_000)
        attached = self.side("attached", meta=[("attach.pid", "4242")])
        asked = self.side("asked", meta=[("recording.samples", "continuous")])
        step, other_step = (self.side(name, meta=[("nvtx_range", name)]) for name in ("step", "other_step"))
        step_again = self.side("step_again", meta=[("nvtx_range", "step")])
        lengths = r"different lengths: 400 ms \(.*short-1.txt\) and 600 ms \(.*long-.\.txt\), so only rates can be compared"
        part = r"{} is only a part of a program's run \({}\) and .*complete-1.txt was recorded without such a limit"
        unknown = self.side("unknown", window_ns=0, meta=[("recording.window", "--duration 400 ms")])
        self.check(*short, "--", *other, expect=PASS)
        self.check(*step, "--", *step_again, expect=PASS)
        self.check(*short, "--", *unknown, expect=PASS)
        for old, new, saying in ((short, long, lengths),
                                 (complete, short, part.format(".*short-1.txt", "--duration 400 ms")),
                                 (complete, attached, part.format(".*attached-1.txt", "-p 4242")),
                                 (complete, step, "complete-1.txt has the work outside of NVTX ranges, too, and "
                                                  ".*step-1.txt has only the work of --nvtx-range step"),
                                 (step, other_step, "step-1.txt has only the work of --nvtx-range step, and .*other_step"),
                                 (complete, asked, "asked-1.txt was recorded with samples of GPU code and .* without")):
            with self.subTest(saying):
                self.inconclusive(*old, "--", *new, saying=saying)
                run = self.run_command([rig.GPUPROF, "diff", "--width", "200", old[0], new[0]])
                self.assertRegex(run.stderr.decode(), saying)
        out = self.gpuprof("diff", "--width", "200", short[0], long[0])
        self.assertRegex(out, r"recorded 400 ms -> 600 ms\nrate     launched per second: .* of GPU time \([+-]0\.\d%\)")
        self.assertNotIn("per second", self.gpuprof("diff", short[0], other[0]))

    def test_a_report_says_how_the_profile_was_recorded(self):
        part = made.write(os.path.join(self.folder, "part.txt"), meta=[("recording.window", "-p 42 --duration 500 ms")])
        self.assertIn("recorded only a part of the program's run: -p 42 --duration 500 ms", self.gpuprof("report", part))
        asked = made.write(os.path.join(self.folder, "asked.txt"), meta=[("recording.samples", "continuous"),
                                                                        ("process.42.cuda.sampling.off", "too old")])
        for options in ((), ("--explain",)):
            self.assertIn("no samples of GPU code were taken: too old", self.gpuprof("report", *options, asked))
        run = self.run_command([rig.GPUPROF, "annotate", asked])
        self.assertEqual(run.returncode, rig.NOTHING)
        self.assertIn("no samples of GPU code were taken: too old", run.stderr.decode())
        self.assertNotIn("pc-sampling", run.stderr.decode())

    def test_a_budget_whose_pattern_matches_nothing_is_rejected(self):
        self.refused("--function", "solve", "--max", "250ms", *self.side("run", runs=2), saying="matches 'solve'")
        self.refused("--kernel", "layer1", "--max", "250ms", *self.side("run", runs=2), saying="matches 'layer1'")

    def test_a_cut_profile_can_fail_a_budget_but_not_pass_it(self):
        cut = made.write(os.path.join(self.folder, "cut.txt"), whole=False)
        self.inconclusive("--kernel", "kernel_0", "--max", "1s", cut, saying="cut short")
        self.check("--kernel", "kernel_0", "--max", "1ms", cut, expect=REGRESSION)

    def test_a_part_of_a_run_does_not_pass_as_a_complete_run(self):
        def budget(path, expect):
            out, _ = self.check("--kernel", "kernel_0", "--max", "1s", "--json", "-", path, expect=expect)
            result = json.loads(out)
            self.assertEqual([run["whole"] for run in result["runs"]], [False])
            return result["reasons"][0]

        whole = made.write(os.path.join(self.folder, "run.txt"))
        part, pieces = os.path.join(self.folder, "part.txt"), os.path.join(self.folder, "pieces")
        self.gpuprof("filter", "--to", "1s", "-o", part, whole)
        self.gpuprof("split", "--by", "time=1s", "-o", pieces, whole)
        for path in (part, os.path.join(pieces, "time-000000.txt")):
            self.assertIn("the profile is a subset of another", budget(path, INCONCLUSIVE))
        only = "recorded only a part of the program's run: "
        for key, value, window, expect, saying in (
                ("recording.window", "--last 1 s", "--last 1 s", INCONCLUSIVE, only + "--last 1 s"),
                ("recording.window", "--delay 2.5 s", "--delay 2.5 s", PASS, "only in the recorded 1.00 s of the program's run"),
                ("nvtx_range", "step", "--nvtx-range step", INCONCLUSIVE, only + "--nvtx-range step"),
                ("process.7.note.attached", "late", "process 7 without its start", INCONCLUSIVE, only + "process 7")):
            path = made.write(os.path.join(self.folder, "window.txt"), window_ns=1_000_000_000, meta=[(key, value)])
            self.assertIn(saying, budget(path, expect))
            for command in (["flame"], ["export", "--format", "json"], ["annotate"]):
                run = self.run_command([rig.GPUPROF, *command, path])
                warning = f"recorded only a part of the program's run: {window}"
                self.assertEqual(run.stderr.decode().count(warning), 1, command)
                if command[0] == "export":
                    self.assertEqual(json.loads(run.stdout)["missing"], [warning])

    def test_work_without_a_stack_counts_against_a_function_budget(self):
        work = {(("main", "solve"), "known"): (10, 1_330_000), ((), "orphan"): (10, 820_000_000)}
        runs = self.side("run", runs=2, work=work, noise=0)
        self.inconclusive("--function", "solve", "--max", "2ms", *runs, saying="run-1.txt: 820.* no complete CPU stack")
        out, _ = self.check("--function", "solve", "--max", "2ms", "--json", "-", *runs, expect=INCONCLUSIVE)
        self.assertEqual([run["whole"] for run in json.loads(out)["runs"]], [False, False])
        self.check("--function", "solve", "--max", "821330us", *runs, expect=PASS)
        self.check("--function", "solve", "--max", "1ms", *runs, expect=REGRESSION)
        self.check("--kernel", "known", "--max", "2ms", *runs, expect=PASS)


if __name__ == "__main__":
    rig.main()
