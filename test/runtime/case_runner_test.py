#!/usr/bin/env python3
"""Proves that case_runner.py can fail."""

import pathlib
import unittest

import case_runner


class Runner(unittest.TestCase):
    def outcome(self, text):
        cases = case_runner.parse(text, pathlib.Path("x.case"))
        self.assertEqual(len(cases), 1)
        return case_runner.run_case(cases[0]).split("\n")[0]

    def test_a_case_that_meets_all_expectations_passes(self):
        self.assertEqual(self.outcome("NAME x\nRUN echo out; echo err >&2; exit 3\nEXIT 3\nSTDOUT ^out$\nSTDERR err"),
                         "pass")

    def test_a_wrong_status_or_signal_fails(self):
        self.assertEqual(self.outcome("NAME x\nRUN exit 3"), "FAIL: exit status 3, expected 0")
        self.assertEqual(self.outcome("NAME x\nRUN true\nSIGNAL SEGV"), "FAIL: exit status 0, expected -11")
        self.assertEqual(self.outcome("NAME x\nRUN kill -SEGV $$\nSIGNAL SEGV"), "pass")

    def test_an_unexpected_or_missing_output_fails(self):
        self.assertEqual(self.outcome("NAME x\nRUN echo out\nSTDOUT no"), "FAIL: not in stdout: no")
        self.assertEqual(self.outcome("NAME x\nRUN echo out >&2\nSTDOUT out"), "FAIL: not in stdout: out")
        self.assertEqual(self.outcome("NAME x\nRUN echo out\nNOT_STDOUT out"),
                         "FAIL: in stdout, where it must not be: out")

    def test_a_timeout_ends_the_complete_process_group(self):
        self.assertEqual(self.outcome("NAME x\nRUN sleep 100 | sleep 100\nTIMEOUT 0.3"),
                         "FAIL: still running after 0.3 s")

    def test_an_unmet_requirement_skips_the_case(self):
        self.assertEqual(self.outcome("NAME x\nRUN true\nREQUIRES program:no-such-program"),
                         "skip: no program no-such-program")

    def test_malformed_case_files_are_rejected(self):
        for text in ("NAME x\nRUNN true", "NAME x", "NAME x\nNAME y\nRUN true"):
            with self.assertRaises(SystemExit):
                case_runner.parse(text, pathlib.Path("x.case"))


if __name__ == "__main__":
    unittest.main()
