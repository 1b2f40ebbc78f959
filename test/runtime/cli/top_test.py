#!/usr/bin/env python3
"""Tests `record --top` without a terminal, and on a pseudo-terminal whose screen this test emulates."""

import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import termios
import time

import rig

LIMIT_S = 60


class Screen:
    """Emulates what gpuprof and the target use of a terminal: a cursor, a scrolling region, erasing."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.lines = [[" "] * columns for _ in range(rows)]
        self.history = []
        self.row = self.column = 0
        self.saved = (0, 0)
        self.bottom = rows - 1  # last line of the scrolling region, which begins at the top
        self.pending = ""
        self.wraps = True
        self.unknown = []

    def feed(self, text):
        text = self.pending + text
        self.pending = ""
        at = 0
        while at < len(text):
            match = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b([78D])").match(text, at)
            if match:
                self.sequence(match.group(1) or "", match.group(2) or match.group(3))
                at = match.end()
            elif text[at] == "\x1b" and len(text) - at < 12:
                self.pending = text[at:]
                return
            else:
                self.character(text[at])
                at += 1

    def down(self):
        if self.row == self.bottom:
            self.history.append("".join(self.lines[0]).rstrip())
            self.lines.insert(self.bottom + 1, [" "] * self.columns)
            del self.lines[0]
        elif self.row < self.rows - 1:
            self.row += 1

    def character(self, c):
        if c == "\n":
            self.down()
        elif c == "\r":
            self.column = 0
        elif ord(c) < 32 or c == "\x1b":
            self.unknown.append(repr(c))
        else:
            if self.column == self.columns:
                if not self.wraps:
                    self.unknown.append("beyond the line: " + c)
                    return
                self.column = 0
                self.down()
            self.lines[self.row][self.column] = c
            self.column += 1

    def sequence(self, numbers, letter):
        values = [int(n) for n in re.findall(r"\d+", numbers)]
        if letter == "7":
            self.saved = (self.row, self.column)
        elif letter == "8":
            self.row, self.column = self.saved
        elif letter == "D":
            self.down()
        elif letter == "A":
            self.row = max(0, self.row - values[0])
        elif letter == "H":
            self.row, self.column = min(values[0], self.rows) - 1, values[1] - 1
        elif letter == "r":
            self.bottom = values[1] - 1 if values else self.rows - 1
            self.row = self.column = 0
        elif letter == "J":
            for row in range(self.row, self.rows):
                start = self.column if row == self.row else 0
                self.lines[row][start:] = [" "] * (self.columns - start)
        elif letter == "K":
            self.lines[self.row][self.column:] = [" "] * max(0, self.columns - self.column)
        elif numbers == "?7":
            self.wraps = letter == "h"
        elif letter != "m":
            self.unknown.append(numbers + letter)

    def text(self):
        return [("".join(line)).rstrip() for line in self.lines]


def recording_of(command):
    return [rig.GPUPROF, "record", "--top", "-o", "top.txt", "--", *command]


class Terminal:
    """A program on a terminal of the given number of rows and columns."""

    def __init__(self, test, program, rows=30, columns=100, **environment):
        self.screen = Screen(rows, columns)
        self.raw = ""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(test.folder)
            os.environ.update({"TERM": "xterm", **environment})
            fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execv(program[0], program)
        self.resize(rows, columns)
        test.addCleanup(self.close)

    def resize(self, rows, columns):
        self.screen = Screen(rows, columns)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def close(self):
        os.close(self.master)

    def read(self, wait_s=0.1):
        """Returns False once no process has the terminal open."""
        if select.select([self.master], [], [], wait_s)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return False
            text = data.decode("utf-8", "replace")
            self.raw += text
            self.screen.feed(text)
            return bool(data)
        return True

    def until(self, condition):
        deadline = time.monotonic() + LIMIT_S
        while not condition(self.screen.text()):
            if not self.read() or time.monotonic() > deadline:
                raise AssertionError("never seen; the screen:\n" + "\n".join(self.screen.text()))

    def end(self):
        """Reads all output and returns the exit status."""
        while self.read(1):
            pass
        return os.waitpid(self.pid, 0)[1]


def shows(word):
    return lambda lines: any(word in line for line in lines)


class Top(rig.RuntimeTest):
    def command(self, then="exit 7"):
        """Returns a command that launches and prints until the file `enough` exists or the test is killed."""
        return self.command_of(os.getpid(), then)

    def command_of(self, test, then):
        alive = f"[ ! -e enough ] && kill -0 {test} 2>/dev/null"
        return ["sh", "-c", f"while {alive}; do {rig.EXAMPLE} >/dev/null || exit 1; echo printed by the target; done; {then}"]

    def enough(self):
        with open(f"{self.folder}/enough", "w", encoding="utf-8"):
            pass

    def assert_restored(self, recording):
        screen = recording.screen
        self.assertEqual(screen.unknown, [])
        self.assertEqual(screen.bottom, screen.rows - 1, "the whole screen scrolls again")
        self.assertFalse(shows("call path")(screen.text()), "the lines are gone")

    def test_the_terminal_shows_running_kernels_and_is_restored(self):
        recording = Terminal(self, recording_of(self.command()))
        kernels = self.kernels()
        recording.until(lambda lines: shows("call path")(lines) and any(shows(k)(lines) for k in kernels)
                        and shows("printed by the target")(lines))
        text = recording.screen.text()
        title = next(i for i, line in enumerate(text) if "share" in line and "kernel" in line)
        paths = next(i for i, line in enumerate(text) if "call path" in line)
        shares = [float(re.match(r" *([\d.]+)%", line).group(1)) for line in text[title + 1 : paths] if "%" in line]
        self.assertGreater(len(shares), 0)
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertLessEqual(sum(shares), 100.1)
        self.assertGreater(sum(shares), 99)
        self.assertIn(" -> ", text[paths + 1])
        self.assertRegex("\n".join(text), r"launches/s  nothing lost")
        self.assertIn("  busy - ", "\n".join(text))  # not yet known: work is apportioned three seconds late
        printed = [i for i, line in enumerate(text) if line == "printed by the target"]
        self.assertLess(max(printed), title, "what the target prints is above")
        self.enough()
        status = recording.end()
        self.assertEqual(os.waitstatus_to_exitcode(status), 7)
        self.assert_restored(recording)
        seen = recording.screen.history + recording.screen.text()
        self.assertEqual(seen.count("printed by the target"), recording.raw.count("printed by the target"))
        self.assertIn("\x1b[1m", recording.raw)

    def kernels(self):
        with open(f"{rig.SOURCE}/examples/opencl/three_sites.cpp", encoding="utf-8") as file:
            return re.findall(r"kernel void (\w+)", file.read())

    def test_the_screen_fits_forty_columns_without_colours(self):
        recording = Terminal(self, recording_of(self.command("exit 0")), rows=20, columns=40, NO_COLOR="1")
        recording.until(shows("call path"))
        self.enough()
        self.assertEqual(recording.end(), 0)
        self.assert_restored(recording)  # no character was written beyond the end of a line
        self.assertNotRegex(recording.raw, "\x1b\\[[12]m")

    def test_a_signal_or_a_crash_restores_the_terminal(self):
        recording = Terminal(self, recording_of(self.command()))
        recording.until(shows("call path"))
        recording.type("\x03")
        self.assertEqual(os.waitstatus_to_exitcode(recording.end()), -signal.SIGINT)
        self.assert_restored(recording)
        recording = Terminal(self, recording_of(self.command("kill -SEGV $$")))
        recording.until(shows("call path"))
        self.enough()
        self.assertEqual(os.waitstatus_to_exitcode(recording.end()), -signal.SIGSEGV)
        self.assert_restored(recording)

    def test_a_resized_terminal_is_redrawn(self):
        recording = Terminal(self, recording_of(self.command("exit 0")))
        recording.until(shows("call path"))
        recording.resize(40, 120)
        recording.until(lambda lines: shows("call path")(lines[20:]) and recording.screen.bottom < 39)
        self.enough()
        self.assertEqual(recording.end(), 0)
        self.assert_restored(recording)

    def shell(self):
        """Starts an interactive shell with job control, for gpuprof to run in."""
        with open(f"{self.folder}/run", "w", encoding="utf-8") as file:
            file.write("exec " + shlex.join(recording_of(self.command())) + "\n")
        terminal = Terminal(self, ["/bin/bash", "--norc", "--noprofile", "--noediting", "-i"], PS1="ready> ", HISTFILE="")
        terminal.until(shows("ready>"))
        return terminal

    @staticmethod
    def is_drawn(terminal):
        return lambda lines: shows("call path")(lines) and terminal.screen.bottom < terminal.screen.rows - 1

    def end_in_shell(self, terminal):
        self.enough()
        terminal.until(lambda lines: not shows("call path")(lines) and "ready>" in lines[terminal.screen.row])
        terminal.type("echo status $?\n")
        terminal.until(shows("status 7"))
        self.assert_restored(terminal)
        terminal.type("exit\n")
        self.assertEqual(terminal.end(), 0)

    def test_ctrl_z_returns_the_terminal_to_the_shell_and_fg_redraws(self):
        terminal = self.shell()
        modes = termios.tcgetattr(terminal.master)
        terminal.type("sh run\n")
        terminal.until(self.is_drawn(terminal))
        terminal.type("\x1a")
        terminal.until(lambda lines: shows("Stopped")(lines) and "ready>" in lines[terminal.screen.row])
        self.assert_restored(terminal)
        self.assertEqual(termios.tcgetattr(terminal.master), modes)
        # While gpuprof is stopped, the shell's output uses the full screen, and gpuprof draws nothing.
        seen = len(terminal.raw)
        terminal.type("seq 100 170\n")
        terminal.until(lambda lines: "170" in lines)
        self.assertGreater(terminal.screen.text().index("170"), terminal.screen.rows - 3)
        self.assertNotIn("call path", terminal.raw[seen:])
        terminal.resize(40, 120)
        terminal.type("fg\n")
        terminal.until(self.is_drawn(terminal))
        self.assertTrue(shows("call path")(terminal.screen.text()[20:]), "at the bottom of the new size")
        self.end_in_shell(terminal)

    def test_in_the_background_nothing_is_drawn(self):
        terminal = self.shell()
        terminal.type("sh run\n")
        terminal.until(self.is_drawn(terminal))
        terminal.type("\x1a")
        terminal.until(shows("Stopped"))
        terminal.type("bg\n")
        seen = len(terminal.raw)
        terminal.until(lambda _: terminal.raw[seen:].count("printed by the target") >= 3)
        self.assert_restored(terminal)
        self.assertNotIn("call path", terminal.raw[seen:])
        terminal.type("fg\n")
        terminal.until(self.is_drawn(terminal))
        self.end_in_shell(terminal)

    def test_a_killed_test_leaves_no_target(self):
        with subprocess.Popen(["sleep", "1000"]) as test:
            target = subprocess.Popen(self.command_of(test.pid, "exit 5"), cwd=self.folder, stdout=subprocess.PIPE, text=True)
            self.addCleanup(target.stdout.close)
            self.assertTrue(target.stdout.readline())
            test.kill()
        self.assertEqual(target.wait(LIMIT_S), 5)

    def test_without_a_terminal_top_prints_lines(self):
        with subprocess.Popen([rig.GPUPROF, "record", "--top", "-q", "-o", "top.txt", "--", *self.command("exit 3")],
                              cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            line = process.stderr.readline()
            self.assertEqual(line, "gpuprof: warning: --top has no terminal for its view, so it prints a line every 5 s\n")
            while "GPU time" not in line:
                line = process.stderr.readline()
                self.assertTrue(line)
            self.enough()
            out, err = process.communicate(timeout=LIMIT_S)
        self.assertRegex(line, r"^gpuprof: \d+ s: [\d,]+ launches/s, GPU time .*%.* -> .*, nothing lost$")
        self.assertNotIn("\x1b", line + err + out)
        self.assertEqual(set(out.splitlines()), {"printed by the target"})
        self.assertEqual(process.returncode, 3)


if __name__ == "__main__":
    rig.main()
