#!/usr/bin/env python3
"""Tests that text from targets and files reaches the terminal without control or bidirectional characters."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../check"))
import floods  # noqa: E402
import made  # noqa: E402
import rig  # noqa: E402
import strangers  # noqa: E402
import wire_layout  # noqa: E402

# This text clears the screen with ESC [ and with its C1 form, sets the title, reverses the text direction, and hides
# its own end.
HOSTILE = "\x1b[2Jmark\x9b2J\x1b]0;title\x07\u202egnp.exe\u2066\u200b\u2028x\U000e0041"
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")

# A profile in which every text is hostile. Raw C1 and bidirectional characters are valid UTF-8.
PROFILE = """GPUPROF;3.0
META;interval_ns;1000000000
META;start_ns;0
META;command;{text}
META;target.exit_status;{text}
META;note.{text};{text}
META;stack_engine;{text}
STRING;1;{text}
FRAME;1;native;1;1;7;1;1;0x10
USTACK;1;1
PROCESS;1;10;1;0;1;1;1;1
DEVICE;1;1;0;1;1
RANGE;1;0;1;1
WORK;1;1;10;1;1;0;0;1;1;7;kernel;1;0
GPU;0;1;2;30000;10000;20000;500000000;0;0
EVENT;1;1;10;10010;7;8;0
WORK;2;1;10;1;1;0;0;1;1;7;launch;1;0
LAUNCH;0;2;2
LATENCY;1;call_to_queued;2;30;10;20;10;1;18;1
LOSS;1;{text};3
COVERAGE;1;launches;2
GPU_MODULE;1;1;1
FRAME;2;gpu;1;1;7;1;1;0x0
GPU_PLACE;1;1;1;0x10;1;2
SAMPLING;1;64;1
EUSTALL;0;1;1;1;1;4;1
END;99999;2;2;30000;2;4;3
"""


def escaped(text):
    """Returns the text with controls and the field separator escaped, as profile lines require."""
    return "".join(f"\\x{ord(c):02x}" if c in "\\;" or ord(c) < 0x20 or ord(c) == 0x7F else c for c in text)


# Texts that GitHub's runner could take for commands, in a name or after a line is wrapped.
COMMANDS = ("::stop-commands::mark", "\u00a0 ::stop-commands::mark", "a##[add-mask]mark", "a###[add-mask]mark", ":",
            ";;stop-commands;;mark", "word " * 30 + "::stop-commands::mark " + "word ::stop-commands::mark " * 30)
IS_COMMAND = re.compile(r"(?m)^\s*::(?!error title=|notice title=)|##\[")
READERS = (["flame"], ["flame", "--lines"], ["flame", "--by", "thread,device,rank,host,command", "--nvtx", "frames"],
           ["flame", "--svg", "-"], ["flame", "--html", "-"], ["flame", "--time-series", "-"], ["report"],
           ["report", "--top", "0", "--width", "80"], ["report", "--json"], ["dump"], ["latency"], ["latency", "--paths"],
           ["latency", "--json"], ["annotate"], ["annotate", "--cpu"], ["merge"], ["filter", "--kernel", "."], ["import"],
           *(["export", "--format", name, "-o", "-"] for name in ("chrome", "speedscope", "folded", "json", "csv")))
COMPARERS = (["diff"], ["diff", "--width", "80"], ["diff", "--json"], ["diff", "--folded"], ["diff", "--markdown"],
             ["diff", "--svg", "-"], ["check"], ["check", "--width", "40"], ["check", "--markdown", "-"],
             ["check", "--junit", "-"], ["check", "--json", "-"], ["check", "--annotations"],
             ["check", "--kernel", ".", "--max", "1ns"])


# A target that speaks the wire protocol, and sends remarks as the injection library does.
REMARKS = """
import sys, time
import floods
target = floods.Target()
target.next_ring = 0
target.put(b"".join(floods.meta(text.encode()) for text in sys.argv[1:]))
while floods.RING.get(target.memory, "tail", floods.wire.ring(0)) < target.head[0]:
    time.sleep(0.01)
target.finish()
"""


class Text(rig.RuntimeTest):
    def harmless(self, what, output, must_show="mark"):
        text = output.decode("utf-8", "strict")
        found = FORBIDDEN.search(text)
        self.assertIsNone(found, f"{what}: {found and text[max(0, found.start() - 40):found.end() + 40]!r}")
        if must_show:
            self.assertIn(must_show, text, what)

    def read(self, *arguments, **options):
        return subprocess.run([rig.GPUPROF, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                              check=False, **options)

    def test_no_command_prints_control_characters_of_a_profile(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "profile.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(PROFILE.format(text=escaped(HOSTILE)))
            svg = os.path.join(scratch, "flame.svg")
            commands = (["flame"], ["flame", "--by", "thread,device,rank,host,command", "--nvtx", "frames"], ["flame", "--svg", svg], ["report"],
                        ["report", "--json"], ["dump"], ["latency"], ["latency", "--json"],
                        *(["export", "--format", name, "-o", "-"] for name in
                          ("chrome", "speedscope", "folded", "json", "csv")))
            shown = []
            for command in commands:
                done = self.read(*command, "-i", path)
                self.assertIn(done.returncode, (0, 4), (command, done.stderr))
                self.harmless(command, done.stdout, None)
                self.harmless(command, done.stderr, None)
                if b"mark" in done.stdout:
                    shown.append(command)
            self.assertEqual(shown, [c for c in commands if "--svg" not in c])  # proves that the output contained the names
            with open(svg, "rb") as file:
                self.harmless("the picture", file.read().replace(b"\t", b""))

    def test_no_command_prints_commands_for_a_ci_system(self):
        for text in COMMANDS:
            path = os.path.join(self.folder, "profile.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(PROFILE.format(text=escaped(text)))
            sides = []
            for side, ns in (("old", 100_000_000), ("new", 200_000_000)):
                work = {(("main", escaped(text)), escaped(text)): (100, ns), (("main", "f"), "k"): (100, 100_000_000)}
                sides.append([made.write(os.path.join(self.folder, f"{side}-{i}.txt"), work, seed=f"{side} {i}",
                                         device=escaped(text), driver=escaped(text), command=escaped(text))
                              for i in range(3)])
            commands = [[*command, path] for command in READERS]
            commands += [[*command, *sides[0], *(["--", *sides[1]] if "--max" not in command else [])]
                         for command in COMPARERS]
            for command in commands:
                done = self.read(*command)
                self.assertIn(done.returncode, (0, 1), (command, done.stderr))
                for output in (done.stdout, done.stderr):
                    shown = output.decode("utf-8", "strict")
                    found = IS_COMMAND.search(shown)
                    self.assertIsNone(found, f"{command} {text[:40]!r}: {found and shown[found.start():found.end() + 60]!r}")

    @strangers.needed
    def test_notes_of_a_target_are_shown_as_its_words(self):
        with strangers.Scratch() as scratch:
            for module in (floods, wire_layout):
                shutil.copy(module.__file__, scratch)
            remarks = ["note.x=error: run mark", "sampling.off=error: run mark", "note.tables=forged", "note.drm.x=forged",
                       "python.version=3.9", "python.refused=error: run mark"]
            run = self.run_command([rig.GPUPROF, "record", "-o", self.profile_path, "--stacks=inproc", "--user",
                                    strangers.stranger().name, "--", "env", f"PYTHONPATH={scratch}", strangers.sys_python(),
                                    "-B", "-c", REMARKS, *remarks])
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertEqual(run.returncode, 0, stderr)
        told = [line for line in stderr.splitlines() if "run mark" in line]
        self.assertEqual(len(told), 3, stderr)
        for line in told:
            self.assertRegex(line, r"^gpuprof: (warning: )?process \d+ .*reports '[^']*run mark'")
        self.assertNotIn("forged", stderr)
        keys = [key for key in rig.Profile(self.profile_path).meta() if ".note." in key]
        self.assertEqual(len(keys), 1, keys)

    def test_errors_escape_hostile_names(self):
        with tempfile.TemporaryDirectory() as scratch:
            name = os.path.join(scratch, HOSTILE)
            for command in (["flame", "-i", name], ["report", "-i", name], ["record", "--", name],
                            [HOSTILE], ["flame", "--" + HOSTILE], ["flame", "--by", HOSTILE]):
                done = self.read(*command, cwd=scratch)
                self.assertNotEqual(done.returncode, 0, command)
                self.harmless(command, done.stderr)

    def test_the_profile_of_a_hostile_target_has_escaped_text(self):
        """Users may print the raw profile with cat. Its command line comes from the target, so it must be escaped."""
        reason = rig.why_not("opencl")
        if reason:
            self.skipTest(reason)
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "profile.txt")
            done = self.read("record", "-o", path, "--", "/usr/bin/env", "X=" + HOSTILE, rig.EXAMPLE, HOSTILE)
            self.harmless("record", done.stderr, None)
            with open(path, "rb") as file:
                self.harmless("the profile", file.read())

    def test_doctor_escapes_a_hostile_environment(self):
        environment = {**os.environ, "OPENCL_LAYERS": HOSTILE, "CUDA_INJECTION64_PATH": HOSTILE,
                       "GPUPROF_" + "MARK": HOSTILE}
        self.harmless("doctor", self.read("doctor", env=environment).stdout, None)
        self.harmless("doctor --json", self.read("doctor", "--json", env=environment).stdout, None)


if __name__ == "__main__":
    rig.main()
