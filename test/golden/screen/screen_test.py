#!/usr/bin/env python3
"""Tests that one screen of 80 columns of `report` explains a training step: screen_test.py GPUPROF

UPDATE=1 rewrites training.report; review the difference before you commit it.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

from training_profile import profile

FOLDER = os.path.dirname(os.path.abspath(__file__))
GPUPROF = os.environ.get("GPUPROF")


def report(*options, text=None):
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(text or profile())
        file.flush()
        run = subprocess.run([GPUPROF, "report", *options, file.name], capture_output=True, text=True, check=True,
                             stdin=subprocess.DEVNULL)
    return run.stdout


def table(text, title):
    """Returns the rows of a table, each with its continuation lines."""
    block = next(part for part in text.split("\n\n") if part.startswith(title))
    lines = []
    for line in block.split("\n")[2:]:
        if re.match(r" {0,6}\d+\.\d+%", line):
            lines.append(line)
        elif lines:
            lines[-1] += "\n" + line
    return lines


class Screen(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.text = report()
        cls.kernels = table(cls.text, "Top kernels and copies")
        cls.functions = table(cls.text, "Top functions")
        cls.paths = table(cls.text, "Top call paths")

    def test_it_is_one_screen(self):
        self.assertLessEqual(len(self.text.splitlines()), 60)
        self.assertLessEqual(max(map(len, self.text.splitlines())), 80)

    def test_kernels_functions_and_paths_come_first(self):
        self.assertGreaterEqual(len(self.kernels), 10)
        self.assertGreaterEqual(len(self.functions), 8)
        self.assertGreaterEqual(len(self.paths), 5)

    def test_each_function_is_another_answer(self):
        answers = [tuple(line.split()[:2]) for line in self.functions]
        self.assertEqual(len(answers), len(set(answers)), "\n".join(self.functions))

    def test_the_users_functions_are_among_them(self):
        for name in ("train_step", "Block.forward", "MLP.forward", "CausalSelfAttention.forward"):
            self.assertIn(name, "\n".join(self.functions))

    def test_every_path_tells_where_it_comes_from(self):
        for path in self.paths:
            self.assertGreaterEqual(path.count("\n"), 2, path)
        self.assertIn("model.py:", "\n".join(self.paths))
        self.assertIn("Backward0::apply", "\n".join(self.paths))

    def test_what_is_not_there_is_named(self):
        for what in ("Ranks", "waits", "allocations"):
            self.assertIn(what.lower(), self.text.lower())

    def test_no_two_kernels_have_one_name(self):
        for options in ((), ("--top", "0"), ("--width", "100"), ("--width", "120", "--top", "0")):
            with self.subTest(options):
                kernels = table(report(*options), "Top kernels and copies")
                names = [re.sub(r"^.*?(?:\s{2,}|\n\s*)(\S.*)$", r"\1", " ".join(line.split("\n")).rsplit("  ", 1)[-1])
                         for line in kernels]
                self.assertEqual(len(names), len(set(names)), "\n".join(sorted(names)))

    def test_top_gives_each_table_what_it_asks_for(self):
        text = report("--top", "10")
        for title in ("Top kernels and copies", "Top functions", "Top call paths"):
            self.assertEqual(len(table(text, title)), 10)
        self.assertIn("\nTop waits for a GPU\n", text)
        self.assertNotIn("Not shown here", text)

    def test_full_and_json_join_no_functions(self):
        self.assertNotIn("+others", report("--full"))
        self.assertIn("Engine::thread_init", report("--full", "--top", "0"))
        self.assertIn("Engine::thread_init", report("--json", "--top", "0"))

    def test_it_looks_like_this(self):
        file = os.path.join(FOLDER, "training.report")
        if os.environ.get("UPDATE") == "1":
            with open(file, "w", encoding="utf-8") as page:
                page.write(self.text)
        with open(file, encoding="utf-8") as page:
            self.assertEqual(page.read(), self.text)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        GPUPROF = os.path.abspath(sys.argv.pop(1))
    unittest.main()
