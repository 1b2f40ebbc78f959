#!/usr/bin/env python3
"""Proves that dead_names.py can fail: adds one dead name at a time to a small tree without dead names."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
import dead_names  # noqa: E402

SOUND = {
    "src/base/clock.h": "namespace n {\nstruct Time { int ns; };\nTime now();\ninline constexpr int kSecond = 9;\n}\n",
    "src/base/clock.cpp": '#include "base/clock.h"\nnamespace n {\nTime now() { return {kSecond}; }\n}\n',
    "src/record/turn.cpp": "int turn() { return now().ns; }\n",
    "src/record/turn.h": "int turn();\n",
    "src/main.cpp": "int main() { return turn(); }\n",
    "test/unit/base/clock_test.cpp": "TEST_CASE() { now(); parse_time(); }\n",
}


class DeadNames(unittest.TestCase):
    def faults(self, added):
        with tempfile.TemporaryDirectory() as folder:
            for path in {**SOUND, **added}:
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(SOUND.get(path, "") + added.get(path, ""), encoding="utf-8")
            return dead_names.dead_names(folder)

    def one_fault(self, text, end, path="src/base/clock.h", also=None):
        faults = self.faults({path: text, **(also or {})})
        self.assertEqual(len(faults), 1, faults)
        self.assertTrue(faults[0].startswith(path + ":") and faults[0].endswith(end), faults[0])

    def test_a_tree_without_dead_names_passes(self):
        self.assertEqual(self.faults({}), [])

    def test_a_name_that_nothing_uses_is_dead(self):
        self.one_fault("int idle();\n", "nothing uses idle")
        self.one_fault("[[nodiscard]] std::vector<int> idle(const Time& time = {});\n", "nothing uses idle")
        self.one_fault("namespace n {\ntemplate <typename T>\nint idle(T t) { return t; }\n}\n", "nothing uses idle")
        self.one_fault("class Watch {\n int idle_ = 0;\n};\n", "nothing uses Watch")
        self.one_fault("enum class Unit : int { ns };\n", "nothing uses Unit")
        self.one_fault("inline constexpr int kHour = 9;\n", "nothing uses kHour")
        self.one_fault("using Ticks = int;\n", "nothing uses Ticks")
        self.one_fault("int idle();\n", "nothing uses idle", path="injection/base/clock.h")

    def test_a_public_member_without_a_user_is_dead(self):
        user = {"src/main.cpp": "Watch watch;\n"}
        self.one_fault("class Watch {\n public:\n  int idle() const;\n private:\n  int own();\n};\n", "nothing uses idle",
                       also=user)
        self.assertEqual(self.faults({"src/base/clock.h": "class Watch {\n int own();\n};\n", **user}), [])

    def test_words_in_comments_and_strings_do_not_count_as_a_use(self):
        self.one_fault("int idle();\n", "nothing uses idle", also={"src/main.cpp": '// idle()\nconst char* t = "idle";\n'})

    def test_a_name_that_only_tests_use_is_dead(self):
        own = {"src/base/clock.cpp": "Time parse_time() { return {}; }\n"}
        self.one_fault("Time parse_time();\n", "only tests use parse_time", also=own)
        self.assertEqual(self.faults({"src/base/clock.h": "// As if it had passed: for tests.\nTime parse_time();\n", **own}), [])

    def test_a_function_that_only_its_own_file_uses_is_reported(self):
        own = {"src/base/clock.cpp": "int idle() { return 1; }\nint x = idle();\n"}
        self.one_fault("int idle();\n", "only src/base/clock.cpp uses idle: move it there", also=own)
        # A name that its own .cpp and a test use is not dead.
        own = {"src/base/clock.cpp": "Time parse_time() { return {}; }\nTime x = parse_time();\n"}
        self.assertEqual(self.faults({"src/base/clock.h": "Time parse_time();\n", **own}), [])


if __name__ == "__main__":
    unittest.main()
