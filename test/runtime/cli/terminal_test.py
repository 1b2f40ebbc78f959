#!/usr/bin/env python3
"""Tests the output of `report` on a terminal: colours, and lines that fit its width."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
import unittest

import rig

PROFILE = os.path.join(rig.SOURCE, "test/golden/train.txt")


def environment(**variables):
    """Returns this environment without terminal settings, and with `variables`."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", "COLUMNS")}
    return {**kept, **variables}


def on_terminal(variables, columns=80, arguments=("report", PROFILE)):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, columns, 0, 0))
    with subprocess.Popen([rig.GPUPROF, *arguments], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL,
                          env=environment(**variables)) as process:
        os.close(theirs)
        output = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # EIO: no process has the other end open
                break
            if not piece:
                break
            output += piece
        os.close(ours)
    assert process.returncode == 0, process.returncode
    return output.decode().replace("\r\n", "\n")


def without_colors(text):
    for sequence in ("\033[0m", "\033[1m", "\033[2m"):
        text = text.replace(sequence, "")
    return text


class Colors(unittest.TestCase):
    def test_a_terminal_gets_colours(self):
        text = on_terminal({"TERM": "xterm-256color"})
        self.assertIn("\033[1mTop kernels and copies\033[0m", text)
        self.assertNotIn("\033", without_colors(text))

    def test_an_empty_no_color_is_ignored(self):
        self.assertIn("\033[1m", on_terminal({"TERM": "xterm", "NO_COLOR": ""}))

    def test_no_color_and_dumb_terminals_disable_colours(self):
        for variables in ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}):
            with self.subTest(variables):
                self.assertNotIn("\033", on_terminal(variables))

    def test_a_pipe_gets_no_colours(self):
        run = subprocess.run([rig.GPUPROF, "report", PROFILE], env=environment(TERM="xterm"), check=True,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertNotIn("\033", run.stdout)
        self.assertEqual(run.stdout, without_colors(on_terminal({"TERM": "xterm"})))

    def test_json_on_a_terminal_has_no_colours(self):
        self.assertNotIn("\033", on_terminal({"TERM": "xterm"}, arguments=("report", "--json", PROFILE)))


class Width(unittest.TestCase):
    def test_lines_fit_the_width_of_the_terminal(self):
        for columns in (80, 100, 150):
            with self.subTest(columns):
                lines = without_colors(on_terminal({"TERM": "xterm"}, columns)).splitlines()
                self.assertLessEqual(max(map(len, lines)), columns)


if __name__ == "__main__":
    rig.main()
