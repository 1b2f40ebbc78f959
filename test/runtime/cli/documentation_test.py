#!/usr/bin/env python3
"""The manual page, docs/cli.md and the shell completion know every command and option that gpuprof has, and no other."""

import re

import rig

COMMON = {"--help", "--help-all", "--quiet", "--verbose", "--version"}


def options_in(text):
    """The long options in a text; '\\-' is a hyphen of a manual page."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text.replace("\\-", "-")))


def options_in_help(text):
    """Those that begin a line: "  -o, --output FILE", "  --root, --trim-to FUNCTION"."""
    lines = re.findall(r"^  ((?:-\w, )?--[a-z-]+(?:, --[a-z-]+)*)", text, re.MULTILINE)
    return {word for line in lines for word in line.split(", ") if word.startswith("--")}


class Documentation(rig.RuntimeTest):
    def read(self, path):
        with open(f"{rig.SOURCE}/{path}", encoding="utf-8") as file:
            return file.read()

    def test_every_option_is_described_and_exists(self):
        commands = re.findall(r"^  ([a-z]+) {2,}", self.gpuprof("--help"), re.MULTILINE)
        self.assertIn("record", commands)
        options = {}
        for command in commands:
            help_text = self.gpuprof(command, "--help-all")
            options[command] = options_in_help(help_text) - COMMON
        existing = set().union(*options.values())
        for path in ("docs/cli.md", "docs/gpuprof.1", "scripts/completions/gpuprof.bash"):
            text = self.read(path)
            described = options_in(text)
            # -o and -i are known by their short names.
            self.assertEqual(existing - described - {"--output", "--input", "--pid"}, set(), path)
            self.assertEqual(described - existing - COMMON, set(), path)
            for command in commands:
                self.assertIn(command, text, path)

    def test_help_fits_a_terminal_and_shows_the_basic_options_first(self):
        commands = re.findall(r"^  ([a-z]+) {2,}", self.gpuprof("--help"), re.MULTILINE)
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

    def test_the_version_by_any_name(self):
        for word in ("version", "-V"):
            self.assertEqual(self.gpuprof(word), self.gpuprof("--version"))


if __name__ == "__main__":
    rig.main()
