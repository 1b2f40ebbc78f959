#!/usr/bin/env python3
"""Checks that docs/cli.md, the manual pages and the shell completions list exactly the commands and options of gpuprof. groff
reads the pages; the shells themselves run the completions."""

import glob
import os
import re
import shutil
import subprocess
import unittest

import rig

COMMON = {"--help", "--help-all", "--quiet", "--verbose", "--version"}


def options_in(text):
    """Returns the long options in a text; '\\-' is a hyphen in a manual page."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text.replace("\\-", "-")))


def options_in_help(text):
    """Returns the long options at the beginning of a line: "  -o, --output FILE", "  --root, --trim-to FUNCTION"."""
    lines = re.findall(r"^  ((?:-\w, )?--[a-z-]+(?:, --[a-z-]+)*)", text, re.MULTILINE)
    return {word for line in lines for word in line.split(", ") if word.startswith("--")}


class Documentation(rig.RuntimeTest):
    def read(self, path):
        with open(f"{rig.SOURCE}/{path}", encoding="utf-8") as file:
            return file.read()

    def commands(self):
        commands = re.findall(r"^  ([a-z]+) {2,}", self.gpuprof("--help"), re.MULTILINE)
        self.assertIn("record", commands)
        return commands

    def options(self):
        """Returns {command: its long options, without the common ones}."""
        return {c: options_in_help(self.gpuprof(c, "--help-all")) - COMMON for c in self.commands()}

    def test_every_option_is_described_and_exists(self):
        options = self.options()
        existing = set().union(*options.values())
        text = self.read("docs/cli.md")
        # These options are documented under their short names -o, -i and -p.
        self.assertEqual(existing - options_in(text) - {"--output", "--input", "--pid"}, set())
        self.assertEqual(options_in(text) - existing - COMMON, set())
        for command in options:
            self.assertIn(command, text)

    def test_option_tables_match_the_definitions(self):
        run = subprocess.run([f"{rig.SOURCE}/scripts/option-tables", rig.GPUPROF, "--check"], capture_output=True,
                             text=True, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_handwritten_text_names_only_existing_options(self):
        text = self.read("docs/manual.roff")
        self.assertEqual(options_in(text) - set().union(*self.options().values()) - COMMON, set())
        for command in re.findall(r'^\.\\" part (\w+) ', text, re.M):
            self.assertIn(command, [*self.commands(), "gpuprof"])

    def test_the_format_describes_each_key_that_drm_adds(self):
        page = self.read("src/profile/FORMAT.md")
        names = set()
        for file in glob.glob(f"{rig.SOURCE}/src/backend/drm/**/*.cpp", recursive=True):
            code = self.read(os.path.relpath(file, rig.SOURCE))
            names.update(re.findall(r'(?:"drm\.|report_count\(\s*")([a-z_.]+)[="]', code))
        self.assertLessEqual({"stalls.ends_inferred", "batches.lost", "kernels_not_listed"}, names)
        for name in names:
            self.assertRegex(page, rf"\bdrm\.{re.escape(name)}[`<]|`{name.removeprefix('stalls.')}`")

    def test_manual_pages_have_every_option(self):
        main = self.gpuprof("manual")
        for command, options in self.options().items():
            self.assertIn(f"gpuprof\\-{command} (1)", main)
            headings = re.findall(r"^\.TP\n(.*)$", self.gpuprof("manual", command), re.M)
            described = set().union(*(options_in(re.sub(r"\\f[BIR]", "", heading)) for heading in headings))
            self.assertEqual(described - COMMON, options, command)

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_groff_prints_no_warnings(self):
        for command in ([], *([c] for c in self.commands())):
            page = self.gpuprof("manual", *command)
            run = subprocess.run(["groff", "-man", "-ww", "-b", "-Tutf8"], input=page, capture_output=True, text=True,
                                 check=True)
            self.assertEqual(run.stderr, "", command)
            shown = re.sub("\x1b\\[[0-9;]*m|.\b", "", run.stdout)
            for section in ("NAME", "SYNOPSIS"):
                self.assertIn("\n" + section + "\n", shown, command)

    def complete_in_bash(self, line):
        """Returns bash's completions for the last word of a line."""
        words = line.split(" ")
        # readline also splits words at "=".
        words = [piece for word in words for piece in (re.split("(=)", word) if word else [""])]
        words = [w for i, w in enumerate(words) if w or i == len(words) - 1]
        quoted = " ".join(f"'{word}'" for word in words)
        script = (self.gpuprof("completion", "bash") +
                  f"PATH={os.path.dirname(rig.GPUPROF)}:$PATH\nCOMP_WORDS=({quoted})\nCOMP_CWORD={len(words) - 1}\n_gpuprof\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n")
        run = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True)
        self.assertEqual(run.stderr, "")
        return run.stdout.split()

    def test_bash_completes_commands_and_options(self):
        commands = self.commands()
        self.assertLessEqual(set(commands), set(self.complete_in_bash("gpuprof ")))
        for command, options in self.options().items():
            offered = set(self.complete_in_bash(f"gpuprof {command} --"))
            self.assertEqual({o for o in offered if "=" not in o} - COMMON - {"--"}, options, command)
        self.assertEqual(self.complete_in_bash("gpuprof fl"), ["flame"])
        self.assertEqual(self.complete_in_bash("gpuprof -q record --stacks in"), ["inproc"])
        self.assertEqual(self.complete_in_bash("gpuprof record --stacks=in"), ["inproc"])
        self.assertIn("--pc-sampling=exact", self.complete_in_bash("gpuprof record --pc"))
        self.assertEqual(self.complete_in_bash("gpuprof record --pc-sampling=e"), ["exact"])
        self.assertEqual(self.complete_in_bash("gpuprof flame --by pid,ran"), ["pid,rank", "pid,range"])
        self.assertEqual(self.complete_in_bash("gpuprof record --backend op"), ["opencl"])
        self.assertEqual(self.complete_in_bash("gpuprof record --interval 1"), [])
        self.assertEqual(self.complete_in_bash("gpuprof help rep"), ["report"])
        self.assertEqual(self.complete_in_bash("gpuprof completion "), ["bash", "zsh", "fish"])
        self.assertEqual(self.complete_in_bash("gpuprof nonsense --"), [])
        with open(f"{self.folder}/a-profile.txt", "w", encoding="utf-8"):
            for before in ("report", "report -i", "report --input=", "diff x", "flame -o", "record -o"):
                line = f"gpuprof {before}{'' if before.endswith('=') else ' '}{self.folder}/a-pro"
                self.assertEqual(self.complete_in_bash(line), [f"{self.folder}/a-profile.txt"], before)

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_accepts_its_completion_file(self):
        script = self.gpuprof("completion", "zsh")
        subprocess.run(["zsh", "-n", "-c", script], check=True)
        run = subprocess.run(["zsh", "-f", "-c", f"autoload -U compinit; compinit -D; {script}\nwhence -w _gpuprof"],
                             capture_output=True, text=True, check=True)
        self.assertEqual((run.stdout, run.stderr), ("_gpuprof: function\n", ""))

    def test_the_completion_command_lists_options_and_values(self):
        def complete(*words):
            kind, kept, *lines = self.gpuprof("__complete", "--", *words).splitlines()
            return kind, kept, [line.partition("\t")[0] for line in lines]

        for command, options in self.options().items():
            kind, kept, words = complete(command, "--")
            self.assertEqual((kind, kept), ("words", ""), command)
            self.assertEqual({w for w in words if "=" not in w} - COMMON - {"--"}, options, command)
        self.assertEqual(complete("record", "--stacks", ""),
                         ("words", "", ["auto", "inproc", "bpf", "fp", "none"]))
        self.assertEqual(complete("record", "--stacks=in"), ("words", "--stacks=", ["inproc"]))
        self.assertEqual(complete("flame", "--by=pid,ran"), ("words", "--by=pid,", ["rank", "range"]))
        for words, kind in ((["record", "-p"], "processes"), (["record", "--user"], "users"),
                            (["check", "-o"], "folders"), (["report"], "files"), (["record", "-o"], "files"),
                            (["record", "--interval"], "none"), (["record", "--", "ls"], "command")):
            self.assertEqual(complete(*words, "")[0], kind, words)

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_completes_commands_and_options(self):
        # Types a Tab on a separate terminal.
        script = f"""
zmodload zsh/zpty
zpty shell zsh -f
zpty -w shell "PROMPT=; PATH={os.path.dirname(rig.GPUPROF)}:$PATH; autoload -U compinit; compinit -D"
zpty -w shell "source {self.folder}/_gpuprof; print rea''dy"
zpty -r -m shell line '*ready*'
zpty -n -w shell $'gpuprof record --stacks inp\t'
zpty -r -m shell line '*inproc*' && print -r -- completed
"""
        with open(f"{self.folder}/_gpuprof", "w", encoding="utf-8") as file:
            file.write(self.gpuprof("completion", "zsh"))
        run = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, timeout=30, check=False)
        self.assertIn("completed", run.stdout, run.stderr)

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish_completes_commands_and_options(self):
        script = self.gpuprof("completion", "fish")

        def complete(line):
            path = f"set -x PATH {os.path.dirname(rig.GPUPROF)} $PATH"
            run = subprocess.run(["fish", "--no-config", "-c", f"{path}\n{script}\ncomplete -C '{line}'"],
                                 capture_output=True, text=True, check=True)
            self.assertEqual(run.stderr, "")
            return [found.split("\t")[0] for found in run.stdout.splitlines()]

        self.assertLessEqual(set(self.commands()), set(complete("gpuprof ")))
        for command, options in self.options().items():
            self.assertLessEqual(options, set(complete(f"gpuprof {command} --")), command)
        self.assertEqual(complete("gpuprof record --stacks in"), ["inproc"])
        self.assertNotIn("--stacks", complete("gpuprof record -- ls --st"))

    def test_help_fits_a_terminal_and_shows_the_basic_options_first(self):
        commands = self.commands()
        for arguments in [["--help"], ["help"], *([c, mode] for c in commands for mode in ("--help", "--help-all"))]:
            for line in self.gpuprof(*arguments).splitlines():
                self.assertLessEqual(len(line), 80, f"{arguments}: {line}")
        for command in commands:
            basic, every = (options_in_help(self.gpuprof(command, mode)) for mode in ("--help", "--help-all"))
            self.assertLessEqual(basic, every, command)
            self.assertIn("--help-all", basic, command)
            self.assertEqual(self.gpuprof("help", command), self.gpuprof(command, "--help"))
        self.assertLess(len(self.gpuprof("record", "--help").splitlines()), 40)
        self.assertNotIn("--max-overhead", self.gpuprof("record", "--help"))
        self.assertIn("--max-overhead", self.gpuprof("record", "--help-all"))

    def test_all_version_options_print_the_same(self):
        for word in ("version", "-V"):
            self.assertEqual(self.gpuprof(word), self.gpuprof("--version"))


if __name__ == "__main__":
    rig.main()
