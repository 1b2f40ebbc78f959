#!/usr/bin/env python3
"""Every command ends soon after SIGTERM, whatever it is reading. For `record` and hostile files, see files_test.py."""

import os
import signal
import subprocess
import time

import rig

SECONDS = 12  # gpuprof promises 2; a busy machine gets 10 more

COMMANDS = [
    ["flame", "-i"], ["flame", "--svg", "{out}", "-i"], ["report", "-i"], ["report", "--json", "-i"], ["annotate", "-i"],
    ["latency", "-i"], ["dump", "-i"], ["export", "--format", "pprof", "-o", "{out}", "-i"], ["filter", "--from", "1s", "-o", "{out}"],
    ["split", "--by", "process", "-o", "{out}"], ["diff"], ["ranks"], ["merge", "-o", "{out}"],
    ["check", "{input}", "--"], ["import"],
]


class Stop(rig.RuntimeTest):
    def start(self, arguments, path):
        words = [word.format(out=os.path.join(self.folder, "out"), input=path) for word in arguments]
        more = [path] if arguments[0] in ("diff", "ranks", "merge") else []
        process = subprocess.Popen([rig.GPUPROF, *words, path, *more], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def check_end(self, process, what):
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.fail(f"{what} ignores SIGTERM")
        self.assertLess(time.monotonic() - begun, SECONDS, what)
        self.assertNotEqual(process.returncode, 0, what)

    def test_commands_that_wait_for_their_input(self):
        """A pipe that has a writer who writes nothing more."""
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        for arguments in COMMANDS:
            with self.subTest(arguments=arguments):
                process = self.start(arguments, pipe)
                with open(os.open(pipe, os.O_RDWR), "wb", buffering=0) as writer:
                    writer.write(b"GPUPROF;3.0\n")
                    time.sleep(0.1)
                    self.assertIsNone(process.poll(), process.poll() is not None and process.stderr.read())
                    self.check_end(process, " ".join(arguments))

    def test_commands_that_compute(self):
        """A profile that keeps commands busy for a while."""
        path = os.path.join(self.folder, "long.txt")
        with open(path, "w", encoding="ascii") as file:
            file.write("GPUPROF;3.0\nMETA;interval_ns;1000000000\nMETA;start_ns;0\nSTRING;1;a\nFRAME;1;native;1;1;7;1;1;0x10\n")
            file.write("USTACK;1;1\nPROCESS;1;10;1;0;1;1;1;1\nDEVICE;1;1;0;1;1\nWORK;1;1;10;1;1;0;0;1;1;7;kernel;1;0\n")
            for number in range(500_000):
                file.write(f"GPU;{number};1;2;30000;10000;20000;500000000;0;0\n")
        for arguments in COMMANDS:
            with self.subTest(arguments=arguments):
                process = self.start(arguments, path)
                time.sleep(0.1)
                if process.poll() is None:
                    self.check_end(process, " ".join(arguments))


if __name__ == "__main__":
    rig.main()
