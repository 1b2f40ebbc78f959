#!/usr/bin/env python3
"""Proves that group_names.py reports equal names in a group and accepts them elsewhere."""

import pathlib
import tempfile
import unittest

import group_names

BODY = """namespace gpuprof {{
namespace {{

{}

}}  // namespace
}}  // namespace gpuprof
"""


class GroupNames(unittest.TestCase):
    def faults(self, first, second, places=("src/base/one.cpp", "src/base/two.cpp")):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for place, definition in zip(places, (first, second)):
                (root / place).parent.mkdir(parents=True, exist_ok=True)
                (root / place).write_text(BODY.format(definition), encoding="utf-8")
            return list(group_names.faults(root))

    def test_equal_names_of_a_group_are_faults(self):
        for first, second in (
                ("constexpr int kLimit = 1;", "constexpr size_t kLimit = 2;"),
                ("int size_of(int a) {\n  return a;\n}", "std::vector<int> size_of(const std::string& a) {\n  return {};\n}"),
                ("struct Row {\n  int a;\n};", "class Row final : public Base {\n};"),
                ("const char* const kNames[] = {};", "constexpr std::array<int, 2> kNames = {\n};")):
            self.assertEqual(len(self.faults(first, second)), 1, (first, second))

    def test_equal_names_in_other_groups_aliases_and_members_are_accepted(self):
        row = "struct Row {\n  int a;\n};"
        self.assertEqual(self.faults(row, row, ("src/base/one.cpp", "src/wire/one.cpp")), [])
        self.assertEqual(self.faults(row, row, ("test/unit/base/one_test.cpp", "test/unit/base/program.cpp")), [])
        self.assertEqual(self.faults("namespace p = profile;", "namespace p = profile;"), [])
        self.assertEqual(self.faults("struct A {\n  int size_of();\n};", "struct B {\n  int size_of();\n};"), [])


if __name__ == "__main__":
    unittest.main()
