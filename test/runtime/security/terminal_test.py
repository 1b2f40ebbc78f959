#!/usr/bin/env python3
"""Tests that a target of --user cannot type into root's terminal, while Ctrl-C and Ctrl-Z work."""

import json
import os
import pty
import signal
import time

import rig
import strangers

# A target that prints which accesses to the terminal succeed for it.
LOOK = """
import fcntl, json, os, sys, termios
def error_of(what):
    try:
        what()
    except OSError as error:
        return error.errno
    return 0
facts = {"typed": error_of(lambda: fcntl.ioctl(0, termios.TIOCSTI, b"#")),
         "opened": error_of(lambda: os.open("/dev/tty", os.O_RDWR)),
         "taken": error_of(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)),
         "uid": os.getuid(), "is_terminal": os.isatty(0), "own_session": os.getsid(0) == os.getpid()}
sys.stderr.write("facts " + json.dumps(facts) + " end\\n")
"""

# Stops the terminal, so that later writes to it block.
STOP = """
import signal, sys, termios, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
termios.tcflow(2, termios.TCOOFF)
open(sys.argv[1], "w").close()
time.sleep(600)
"""

SLEEP = """
import os, signal, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
print(f"pid={os.getpid()}=", flush=True)
time.sleep(600)
"""


class Terminal(rig.RuntimeTest):
    def setUp(self):
        super().setUp()
        self.shown = b""

    def start(self, *command, user=True):
        """Records a command on a separate terminal."""
        options = ["--user", strangers.victim().name] if user else []
        arguments = [rig.GPUPROF, "record", "-o", self.profile_path, *options, "--", *command]
        pid, terminal = pty.fork()
        if pid == 0:
            try:
                os.execv(arguments[0], arguments)
            finally:
                os._exit(99)
        self.status = None
        os.set_blocking(terminal, False)
        self.addCleanup(self.end, pid, terminal)
        return pid, terminal

    def end(self, pid, terminal):
        if not self.ended(pid):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(terminal)

    def read(self, terminal):
        try:
            self.shown += os.read(terminal, 65536)
        except (BlockingIOError, OSError):
            pass  # the terminal has no data, or no process has it open
        return self.shown

    def ended(self, pid):
        if self.status is None:
            done, status = os.waitpid(pid, os.WNOHANG)
            self.status = status if done == pid else None
        return self.status is not None

    def wait_for_text(self, terminal, text):
        self.assertTrue(rig.wait_for(lambda: text in self.read(terminal)), self.shown)

    def wait_for_end(self, pid, terminal):
        self.assertTrue(rig.wait_for(lambda: (self.read(terminal), self.ended(pid))[1], 60), self.shown)
        self.read(terminal)
        return os.waitstatus_to_exitcode(self.status)

    def facts(self, **options):
        pid, terminal = self.start(strangers.sys_python(), "-c", LOOK, **options)
        self.assertEqual(self.wait_for_end(pid, terminal), 0, self.shown)
        return json.loads(self.shown.split(b"facts ")[1].split(b" end")[0])

    @strangers.needed
    def test_a_target_of_another_user_has_no_terminal_to_type_in(self):
        facts = self.facts()
        self.assertEqual(facts["uid"], strangers.victim().uid)
        self.assertTrue(facts["is_terminal"], "stdin stays what it is")
        self.assertNotEqual(facts["typed"], 0, "TIOCSTI has put a character into root's terminal")
        self.assertNotEqual(facts["opened"], 0, "/dev/tty could be opened")
        self.assertNotEqual(facts["taken"], 0, "the terminal could be taken")
        self.assertTrue(facts["own_session"])

    @strangers.needed
    def test_a_target_of_the_same_user_keeps_the_terminal(self):
        facts = self.facts(user=False)
        self.assertEqual(facts["opened"], 0)
        self.assertFalse(facts["own_session"])

    @strangers.needed
    def test_ctrl_c_reaches_all_processes_of_the_command(self):
        pid, terminal = self.start("sh", "-c", "trap 'echo interrupted; exit 7' INT; (trap - INT; exec sleep 60) & "
                                   "echo child=$!=; wait")
        self.assertTrue(rig.wait_for(lambda: self.read(terminal).count(b"=") >= 2), self.shown)
        child = int(self.shown.split(b"child=")[1].split(b"=")[0])
        self.assertTrue(rig.wait_for(lambda: strangers.command_of(child) == "sleep"))
        os.write(terminal, b"\x03")
        self.assertEqual(self.wait_for_end(pid, terminal), 7, self.shown)
        self.assertIn(b"interrupted", self.shown)

    @strangers.needed
    def test_ctrl_backslash_and_a_hang_up_reach_the_command(self):
        for number, how in ((signal.SIGQUIT, lambda terminal: os.write(terminal, b"\x1c")),
                            (signal.SIGHUP, lambda terminal: os.kill(self.pid, signal.SIGHUP))):
            self.shown = b""
            self.pid, terminal = self.start("sh", "-c", f"trap 'exit 9' {number.name[3:]}; echo ready;"
                                            " while :; do sleep 0.05; done")
            self.wait_for_text(terminal, b"ready")
            how(terminal)
            self.assertEqual(self.wait_for_end(self.pid, terminal), 9, self.shown)

    @strangers.needed
    def test_ctrl_z_stops_the_command_and_it_can_continue(self):
        # Not a shell: the parent of vfork() is not stopped while its child is stopped before exec().
        pid, terminal = self.start(strangers.sys_python(), "-c", SLEEP)
        self.assertTrue(rig.wait_for(lambda: self.read(terminal).count(b"=") >= 2), self.shown)
        target = int(self.shown.split(b"pid=")[1].split(b"=")[0])
        os.write(terminal, b"\x1a")
        done, status = 0, 0
        deadline = time.monotonic() + 30
        while done == 0 and time.monotonic() < deadline:
            done, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
            time.sleep(0.02)
        self.assertTrue(done == pid and os.WIFSTOPPED(status), (done, status, self.shown))
        self.assertTrue(rig.wait_for(lambda: self.state(target) == "T"))
        os.kill(pid, signal.SIGCONT)
        self.assertTrue(rig.wait_for(lambda: self.state(target) != "T"))
        os.write(terminal, b"\x03")
        self.assertEqual(self.wait_for_end(pid, terminal), -signal.SIGINT, self.shown)

    @strangers.needed
    def test_a_target_that_stops_the_terminal_does_not_keep_the_recorder_alive(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            mark = os.path.join(self.folder, f"stopped-{number}")
            pid, _ = self.start(strangers.sys_python(), "-c", STOP, mark, user=False)
            self.assertTrue(rig.wait_for(lambda: os.path.exists(mark)))
            os.kill(pid, number)
            self.assertTrue(rig.wait_for(lambda: self.ended(pid), 60), "it waits for the terminal")
            self.assertEqual(os.waitstatus_to_exitcode(self.status), -number)

    def state(self, pid):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0]


if __name__ == "__main__":
    rig.main()
