#!/usr/bin/env python3
"""Runs every command that README.md, docs/cli.md, docs/manual.roff or a --help text shows, exactly as written.

The commands of a page run in order, in one folder and on a terminal, so an example can read files of earlier ones. ./app
starts the OpenCL example, and train.py its Python twin (without pyopencl: a script that starts ./app). An `app` is running
for `pidof`. `sudo` is a stand-in, as a real one would not find this build. NOT_RUN lists what cannot be run.
"""

import gzip
import os
import pty
import pwd
import re
import shutil
import stat
import subprocess
import unittest

import rig

# Each entry: (a regular expression for the whole command, why the command is not run). Each expression must match at
# least one command.
NOT_RUN = (
    (r"\./setup\.sh \w+", "installs packages and builds"),
    (r"cmake --preset release && cmake --build --preset release", "builds; the release step of CI does it"),
    (r"sudo cmake --install build-release --strip", "installs into the system; the release step of CI uses a folder"),
    (r"cpack --config build-release/CPackConfig.cmake", "packs a release build; the release step of CI does it"),
    (r"gpuprof completion bash\|zsh\|fish.*", "a synopsis: placeholders"),
    (r"gpuprof \w+ +(\[COMMAND\]|\[options\]|\[OPTIONS\]|FILE\.\.\.|--format FORMAT \[options\]|\[--json\]|--by WHAT).*",
     "a synopsis: placeholders"),
    (r"gpuprof <command> --help", "a synopsis: placeholders"),
    (r"gpuprof (filter|split) .*(--from 10s|--kernel nccl|--by rank|time=10s).*",
     "needs a job of four ranks that runs for 20 s; parts_test.py has profiles of ranks and slices"),
    (r"sudo gpuprof record -p .*docker inspect.*", "needs Docker; test/runtime/containers makes namespaces itself"),
    (r"gpuprof annotate --gpu --kernel attention", "needs samples of GPU code; test/golden/options has some"),
)
# Commands that need more than PoCL: (text in the command, the requirement as named by rig.why_not).
NEEDS = ((" -p ", "ebpf"), ("--cpu=bpf", "ebpf"), ("--weight offcpu", "ebpf"))

PAGES = ("README.md", "docs/cli.md", "docs/manual.roff")
LAUNCHES = 60
MARK = "@@example@@"  # separates the results of a block's commands


def without_comment(line):
    """Returns the line without a shell comment; a '#' inside quotes is not a comment."""
    quote = ""
    for at, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "#" and (at == 0 or line[at - 1].isspace()):
            return line[:at].rstrip()
    return line.rstrip()


def blocks_of_markdown(text):
    """Yields the lines of each block that is indented by four spaces and follows an empty line."""
    blocks, block, after_blank = [], [], True
    for line in [*text.splitlines(), ""]:
        if line.startswith("    ") and (block or after_blank):
            block.append(line[4:])
        elif line.strip() or not block:
            if block:
                blocks.append(block)
            block = []
        after_blank = not line.strip()
        if after_blank and block:
            blocks.append(block)
            block = []
    return blocks


def blocks_of_manual(text):
    """Yields the lines between .EX and .EE."""
    examples = re.findall(r"^\.EX\n(.*?)^\.EE$", text, re.M | re.S)
    return [example.replace("\\-", "-").splitlines() for example in examples]


def blocks_of_help(text):
    lines = re.findall(r"^(?:Usage:)? +(gpuprof .*)$", text, re.M)
    # Each line of the help has two columns: the command, and what it does.
    return [[re.split(r" {3,}", line)[0]] for line in lines]


def commands_of(block):
    commands = [without_comment(line) for line in block]
    return [re.sub(r" {3,}[a-z].*$", "", command) if "[" in command or "..." in command else command
            for command in commands if command]


def why_not_run(command):
    return next((reason for pattern, reason in NOT_RUN if re.fullmatch(pattern, command)), None)


def write_program(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)


class Sandbox:
    """Holds the folder in which examples run, and the shell for them."""

    def __init__(self, folder):
        self.folder, self.running = folder, None
        programs = os.path.join(folder, "bin")
        os.mkdir(programs)
        os.symlink(rig.GPUPROF, os.path.join(programs, "gpuprof"))
        write_program(os.path.join(programs, "sudo"), '#!/bin/sh\nexec "$@"\n')
        # ./app must end soon, as some examples run it a dozen times. So `pidof app` finds another app, which runs for long.
        os.mkdir(os.path.join(folder, "long"))
        self.app = shutil.copy(rig.EXAMPLE, os.path.join(folder, "long/app"))
        for name in ("app", "app.main", "app.good", "old-app", "new-app"):
            write_program(os.path.join(folder, name), f'#!/bin/sh\nexec {self.app} --launches {LAUNCHES} "$@"\n')
        python = rig.pyopencl_python()
        if python:
            write_program(os.path.join(programs, "python3"), f'#!/bin/sh\nexec {python} "$@"\n')
            shutil.copy(rig.PYTHON_EXAMPLE, os.path.join(folder, "train.py"))
        else:
            write_program(os.path.join(folder, "train.py"), "import os\nos.execv('./app', ['./app'])\n")
        stored = os.path.join(rig.SOURCE, "test/golden/import/states.txt")
        shutil.copy(stored, os.path.join(folder, "iaprof.txt"))
        with open(stored, "rb") as file, gzip.open(os.path.join(folder, "iaprof.txt.gz"), "wb") as packed:
            packed.write(file.read())
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}",
                            "USER": pwd.getpwuid(os.geteuid()).pw_name}

    def start_app(self):
        """Starts the app for the example that records a running process."""
        self.running = subprocess.Popen([self.app, "--launches", "1000000000"], cwd=self.folder,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def stop_app(self):
        if self.running:
            self.running.kill()
            self.running.wait()

    def run(self, commands):
        """Runs commands in one shell and returns [(command, status, stdout, stderr)]."""
        script = "\n".join(f"{command}\nstatus=$?; echo {MARK}$status; echo {MARK} >&2" for command in commands)
        terminal, stdin = pty.openpty()
        try:
            run = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment, stdin=stdin,
                                 capture_output=True, text=True, errors="replace", timeout=240, check=False)
        finally:
            os.close(terminal)
            os.close(stdin)
        outputs = re.split(rf"{MARK}(\d+)\n", run.stdout)
        stdouts, statuses = outputs[::2], outputs[1::2]
        return list(zip(commands, map(int, statuses), stdouts, run.stderr.split(MARK + "\n")))


def numbers_at_the_end(text):
    return [value for _, value in rig.parse_folded(text)]


def numbers_of_iaprof(text):
    """iaprof prints nothing for a missing text, so its stacks may have empty frames."""
    return [int(line.rpartition(" ")[2]) for line in text.splitlines()]


def faults_of(command, folder, stdout):
    """Returns sentences that say what is implausible in the printed and written output of a command."""
    faults = []

    def read(name):
        path = os.path.join(folder, name)
        if not os.path.isfile(path) or os.path.getsize(path) == 0:
            faults.append(f"wrote no {name}")
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read()

    for name in re.findall(r"--svg (\S+)", command):
        text = read(name)
        if "<svg" not in text or "</svg>" not in text:
            faults.append(f"{name} is not a picture")
    for name in re.findall(r"> (\S+\.folded)", command):
        numbers_of = numbers_of_iaprof if "import --folded" in command else numbers_at_the_end
        if sum(numbers_of(read(name))) == 0:
            faults.append(f"{name} has no weight")
    for name in re.findall(r"-o '?([\w%.-]+\.(?:txt|json))'?", command):
        made = name.replace("%h", os.uname().nodename).replace("%r", "0")
        if not read(made).startswith("GPUPROF;" if made.endswith(".txt") else "{"):
            faults.append(f"{made} does not begin as it should")
    if "| sort" in command:
        values = numbers_at_the_end(stdout)
        if values != sorted(values) or len(values) < 2 or values[0] == values[-1]:
            faults.append(f"not sorted by the number at the end: {values}")
    if re.fullmatch(r"gpuprof report\b.*", command) and not re.search(r"^Top kernels and copies", stdout, re.M):
        faults.append("no table of kernels")
    if "gpuprof latency" in command and not re.search(r"call -> |call to ", stdout):
        faults.append("no latencies")
    if command == "gpuprof doctor" and not re.search(r"ok +opencl ", stdout):
        faults.append("doctor does not know of OpenCL")
    return faults


class Examples(unittest.TestCase):
    def blocks(self):
        """Returns [(page, [commands])]."""
        result = []
        for page in PAGES:
            with open(os.path.join(rig.SOURCE, page), encoding="utf-8") as file:
                text = file.read()
            blocks = blocks_of_manual(text) if page.endswith(".roff") else blocks_of_markdown(text)
            self.assertTrue(blocks, f"{page} has no example")
            result += [(page, commands_of(block)) for block in blocks]
        helped = subprocess.run([rig.GPUPROF, "--help"], capture_output=True, text=True, check=True).stdout
        helps = [("gpuprof --help", helped)]
        for name in re.findall(r"^  ([a-z]+) {2,}", helped, re.M):
            text = subprocess.run([rig.GPUPROF, name, "--help"], capture_output=True, text=True, check=True).stdout
            helps.append((f"gpuprof {name} --help", text))
        return result + [(page, commands_of(block)) for page, text in helps for block in blocks_of_help(text)]

    def test_every_documented_example_runs_unchanged(self):
        reason = rig.unmet(["opencl"])
        if reason:
            self.skipTest(reason)
        sandbox = Sandbox(self.folder())
        self.addCleanup(sandbox.stop_app)
        ran = 0
        for page, commands in self.blocks():
            wanted = [command for command in commands if why_not_run(command) is None and self.can_run(command)]
            if any("pidof" in command for command in wanted):
                sandbox.start_app()
            results = sandbox.run(wanted) if wanted else []
            self.assertEqual(len(results), len(wanted), f"{page}: the shell ended within {wanted}")
            for command, status, stdout, stderr in results:
                with self.subTest(page=page, command=command):
                    # On a busy machine `check` may be inconclusive or wrong.
                    self.assertIn(status, (0, 1, 125) if "gpuprof check" in command else (0,), stderr)
                    self.assertEqual(faults_of(command, sandbox.folder, stdout), [], stderr)
                    self.assertNotIn("gpuprof: error", stderr)
                ran += 1
        self.assertGreater(ran, 15, "the pages have more examples than that")

    def test_the_tutorial_shows_what_its_commands_print(self):
        reason = rig.unmet(["opencl"])
        if reason:
            self.skipTest(reason)
        with open(os.path.join(rig.SOURCE, "docs/tutorial.md"), encoding="utf-8") as file:
            page = file.read().partition("\n## CUDA")[0]
        with open(os.path.join(rig.SOURCE, "examples/opencl/heat.cpp"), encoding="utf-8") as file:
            source = file.read()
        sandbox = Sandbox(self.folder())
        os.symlink(os.path.join(rig.SOURCE, "examples"), os.path.join(sandbox.folder, "examples"))
        results = sandbox.run(re.findall(r"^    \$ (.*)$", page, re.M))
        printed = ""
        for command, status, stdout, stderr in results:
            self.assertEqual(status, 0, (command, stderr))
            self.assertEqual(faults_of(command, sandbox.folder, stdout), [], stderr)
            printed += stdout + stderr
        # Times differ from run to run. Call paths, headings and the numbers of launches do not.
        lines = {" ".join(line.split()) for line in printed.splitlines()}
        for pattern in (r"^    .*heat\.cpp:\d+$", r"^    Top .*$", r"^    launches [\d,]+ -> [\d,]+$", r"^    .*  name\b.*$"):
            shown = re.findall(pattern, page, re.M)
            self.assertTrue(shown, pattern)
            self.assertLessEqual({" ".join(line.split()) for line in shown}, lines)
        number, text = re.search(r"^Line (\d+) of heat\.cpp is `(.*)`", page, re.M).groups()
        self.assertIn(text, source.splitlines()[int(number) - 1])
        # Each picture of the page is drawn by a command of the page.
        drawn = re.findall(r"--svg (\S+)\.svg$", page, re.M)
        self.assertEqual(re.findall(r"\]\(tutorial-(.*)\.png\)$", page, re.M), drawn)
        for name in drawn:
            self.assertTrue(os.path.isfile(os.path.join(rig.SOURCE, f"docs/tutorial-{name}.png")), name)

    def can_run(self, command):
        for part, requirement in NEEDS:
            if part in command and rig.why_not(requirement):
                print(f"not run here: {command}: {rig.why_not(requirement)}", flush=True)
                return False
        return True

    def folder(self):
        folder = rig.tempfile.TemporaryDirectory(prefix="gpuprof-test.")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, stat.S_IRWXU)
        return folder.name

    def test_documented_sort_commands_handle_names_with_blanks(self):
        lines = ["main;void step<int, float>(int);k_[G] 20", "main;g;k_[G] 3", "main;operator new[] (unsigned);k_[G] 100"]
        ways = [command.partition("gpuprof flame |")[2] for _, block in self.blocks() for command in block
                if "sort" in command and "gpuprof flame |" in command]
        self.assertTrue(ways)
        for way in ways:
            run = subprocess.run(["bash", "-c", way], input="\n".join(lines) + "\n", capture_output=True, text=True,
                                 check=True)
            self.assertEqual(run.stdout.splitlines(), [lines[1], lines[0], lines[2]], way)

    def test_each_exception_matches_a_documented_command(self):
        commands = [command for _, block in self.blocks() for command in block]
        for pattern, reason in NOT_RUN:
            self.assertTrue(any(re.fullmatch(pattern, command) for command in commands),
                            f"nothing matches {pattern} ({reason})")

    def test_example_blocks_are_found(self):
        text = "text\n\n    a   # comment\n    b '# no comment'\n\nmore\n\n    c\n"
        self.assertEqual([commands_of(block) for block in blocks_of_markdown(text)], [["a", "b '# no comment'"], ["c"]])
        self.assertEqual(blocks_of_manual(".EX\ngpuprof \\-x\n.EE\n"), [["gpuprof -x"]])

    def test_an_unsorted_output_is_reported(self):
        command = "gpuprof flame | sort"
        self.assertEqual(faults_of(command, "/", "a b 1\na c 20\n"), [])
        self.assertNotEqual(faults_of(command, "/", "a b 20\na c 1\n"), [])
        self.assertNotEqual(faults_of("gpuprof flame --svg none.svg", "/nonexistent", ""), [])


if __name__ == "__main__":
    rig.main()
