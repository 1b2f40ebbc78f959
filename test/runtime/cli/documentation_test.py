#!/usr/bin/env python3
"""The manual page, docs/cli.md and the shell completion know every command and option that gpuprof has, and no other."""

import re

import rig

COMMON = {"--help", "--quiet", "--verbose", "--version"}


def options_in(text):
    """The long options in a text; '\\-' is a hyphen of a manual page."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text.replace("\\-", "-")))


class Documentation(rig.RuntimeTest):
    def read(self, path):
        with open(f"{rig.SOURCE}/{path}", encoding="utf-8") as file:
            return file.read()

    def test_every_option_is_described_and_exists(self):
        commands = re.findall(r"^  ([a-z]+) {2,}", self.gpuprof("--help"), re.MULTILINE)
        self.assertIn("record", commands)
        options = {}
        for command in commands:
            help_text = self.gpuprof(command, "--help")
            options[command] = set(re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", help_text, re.MULTILINE)) - COMMON
        existing = set().union(*options.values())
        for path in ("docs/cli.md", "docs/gpuprof.1", "scripts/completions/gpuprof.bash"):
            text = self.read(path)
            described = options_in(text)
            # -o and -i are known by their short names.
            self.assertEqual(existing - described - {"--output", "--input", "--pid"}, set(), path)
            self.assertEqual(described - existing - COMMON, set(), path)
            for command in commands:
                self.assertIn(command, text, path)


if __name__ == "__main__":
    rig.main()
