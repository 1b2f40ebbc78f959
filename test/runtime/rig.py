"""Shared code of the runtime tests: paths, the abilities of this machine, and an independent reader of profiles."""

import collections
import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SKIPPED = 77  # exit status that ctest reads as "skipped"
NOTHING = 4  # exit status of gpuprof if the profile has nothing that matches

# Restores default actions: a shell's background processes ignore SIGINT, so Ctrl-C would not end a test's programs.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _handler)

# The programs under test; ctest sets these, absolute or relative to the folder in which the test starts.
GPUPROF = os.path.abspath(os.environ.get("GPUPROF", "build/gpuprof"))
EXAMPLE = os.path.abspath(os.environ.get("GPUPROF_EXAMPLE", "build/examples/opencl/example_opencl"))
SOURCE = os.environ.get("GPUPROF_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
with open(os.path.join(SOURCE, "src/profile/FORMAT.md"), encoding="utf-8") as page:
    REASONS_OF_LOST_WORK = re.findall(r"^\| `(\w+)` \| work \|", page.read(), re.MULTILINE)
PYTHON_EXAMPLE = os.path.join(SOURCE, "examples/python/opencl_sites.py")


@functools.lru_cache(maxsize=None)
def doctor():
    """Returns {section: {name: state}} according to gpuprof doctor."""
    run = subprocess.run([GPUPROF, "doctor", "--json"], stdout=subprocess.PIPE, check=True)
    sections = json.loads(run.stdout)
    return {
        section: {fact["name"]: fact["state"] for fact in facts}
        for section, facts in sections.items()
        if isinstance(facts, list)
    }


@functools.lru_cache(maxsize=None)
def pyopencl_python():
    """Returns a Python that has pyopencl, or None. The distribution's own is often not the first in PATH."""
    for python in ("/usr/bin/python3", sys.executable):
        probe = [python, "-c", "import pyopencl, numpy; pyopencl.get_platforms()"]
        if os.path.exists(python) and subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return python
    return None


def why_not(requirement):
    """Returns None if the requirement is met, else the reason for a skip."""
    if requirement == "opencl":
        if doctor()["backends"].get("opencl") != "ok":
            return "no OpenCL platform, or gpuprof was built without the backend (package pocl-opencl-icd)"
        return None if os.path.exists(EXAMPLE) else "the OpenCL example is not built"
    if requirement == "ebpf":
        return None if doctor()["rights"]["eBPF"] == "ok" else "no rights for eBPF here (run as root)"
    if requirement == "root":
        return None if os.geteuid() == 0 else "not root"
    if requirement == "pyopencl":
        return None if pyopencl_python() else "no Python with pyopencl (package python3-pyopencl)"
    if requirement.startswith("program:"):
        program = requirement.split(":", 1)[1]
        return None if shutil.which(program) else f"no program {program}"
    return f"unknown requirement {requirement}"


def unescape(text):
    """Reverts the writer's escapes in a text of a profile."""
    if "\\" not in text:
        return text
    raw = re.sub(rb"\\x([0-9a-fA-F]{2})", lambda match: bytes([int(match.group(1), 16)]), text.encode())
    return raw.decode("utf-8", "replace")


def unmet(requirements):
    return next((reason for reason in map(why_not, requirements) if reason), None)


def requires(*requirements):
    """Decorator of a test: skips it, with the reason, if a requirement is not met."""

    def decorate(test):
        @functools.wraps(test)
        def wrapper(self):
            reason = unmet(requirements)
            if reason:
                self.skipTest(reason)
            test(self)

        return wrapper

    return decorate


WORK_FIELDS = "process tid thread ustack kstack capture range device stream op name flags"


class Work(collections.namedtuple("Work", WORK_FIELDS)):
    """A WORK record: ids as in the file, but thread and name as text, and tid, stream, flags as numbers."""

    GRAPH_NODE, UNSAMPLED = 1, 2


# A frame of a CPU stack, or a text in its place (kind `text`). `interpreter`: true for the interpreter's own code.
Frame = collections.namedtuple("Frame", "kind name file line module address interpreter")


class Profile:
    """Reads a profile line by line according to FORMAT.md, independently of gpuprof's reader."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        lines = data.split(b"\n")
        self.whole_lines = lines[:-1]  # the last item is a cut line or empty
        self.rows = [line.decode("utf-8", "replace").split(";") for line in self.whole_lines]

    def of(self, kind):
        return [row[1:] for row in self.rows if row[0] == kind]

    @functools.cached_property
    def _strings(self):
        return {row[0]: unescape(row[1]) for row in self.of("STRING")}

    def strings(self):
        return self._strings

    @functools.cached_property
    def works(self):
        """Returns {id: Work}."""
        text = self.strings()
        result = {}
        for row in self.of("WORK"):
            work = Work(*row[1:])
            result[row[0]] = work._replace(tid=int(work.tid), thread=text.get(work.thread, ""), stream=int(work.stream),
                                           name=text.get(work.name, ""), flags=int(work.flags))
        return result

    @functools.cached_property
    def stacks(self):
        """Returns {USTACK id: [Frame]}, outermost first."""
        text, kinds = self.strings(), {"interpreter": "native"}
        frames = {row[0]: Frame(kinds.get(row[1], row[1]), text.get(row[2], ""), text.get(row[3], ""), int(row[4]),
                                text.get(row[5], ""), int(row[7], 0), row[1] == "interpreter")
                  for row in self.of("FRAME")}
        return {row[0]: [frames.get(element, Frame("text", element, "", 0, "", 0, False)) for element in row[1:]]
                for row in self.of("USTACK")}

    def frames(self, ustack):
        """Returns the names of a USTACK's frames, outermost first; [] for id 0."""
        return [frame.name for frame in self.stacks.get(ustack, [])]

    @functools.cached_property
    def ranges(self):
        """Returns {id: path of NVTX ranges}: "outer;inner", with names in a domain as "domain:name"."""
        text, paths = self.strings(), {"0": ""}
        for row in self.of("RANGE"):
            name = ":".join(filter(None, (text.get(row[2], ""), text.get(row[3], ""))))
            paths[row[0]] = ";".join(filter(None, (paths[row[1]], name)))
        return paths

    def counts(self):
        """Returns {(slice, WORK id): count} of the GPU lines, and of the HOST lines of calls."""
        result = collections.Counter()
        calls = {work_id for work_id, work in self.works.items() if work.op == "call"}
        for slice_, work, count, *_ in self.of("GPU") + [row for row in self.of("HOST") if row[1] in calls]:
            result[slice_, work] += int(count)
        return result

    def durations(self):
        """Returns {(slice, WORK id): count} of the DURATION lines."""
        result = collections.Counter()
        for slice_, work, *buckets in self.of("DURATION"):
            result[slice_, work] += sum(int(count) for count in buckets[1::2])
        return result

    def measured(self, kind):
        """Returns [(Work, other fields)] of the lines of a kind whose first fields are slice and WORK: GPU, HOST, LAUNCH, SHARE."""
        works = self.works
        return [(works[row[1]], [int(number) for number in row[2:]]) for row in self.of(kind)]

    def meta(self):
        """Returns {key: [values]}."""
        result = {}
        for row in self.of("META"):
            result.setdefault(row[0], []).append(unescape(row[1]))
        return result

    def coverage(self):
        """Returns {word: count} of the COVERAGE lines, summed over all processes."""
        result = {}
        for _, what, count in self.of("COVERAGE"):
            result[what] = result.get(what, 0) + int(count)
        return result

    def processes(self):
        """Returns [(pid, ppid, name, command)] in file order."""
        strings = self.strings()
        return [(int(r[1]), int(r[2]), strings.get(r[4], ""), strings.get(r[5], "")) for r in self.of("PROCESS")]

    def gpu(self):
        """Returns [(process id, operation, kernel name, count, ns)], one per line of the profile."""
        return [(work.process, work.op, work.name, *numbers[:2]) for work, numbers in self.measured("GPU")]

    def end(self):
        """Returns the sums of the END record, or None if the profile was cut."""
        rows = self.of("END")
        names = ("end_ns", "launches", "gpu_records", "gpu_ns", "with_stack", "samples", "lost")
        return dict(zip(names, map(int, rows[-1]))) if rows else None

    def losses(self):
        """Returns {reason: count}; each LOSS line adds to earlier ones."""
        result = collections.Counter()
        for _, reason, count in self.of("LOSS"):
            result[reason] += int(count)
        return result

    def lost_work(self):
        """Returns the number of lost GPU records; other losses leave the work in the profile."""
        return sum(count for reason, count in self.losses().items() if reason in REASONS_OF_LOST_WORK)


def wait_for(condition, seconds=30, pause=0.05):
    """Returns whether the condition came true within that time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(pause)
    return bool(condition())  # a last check, as this process may have slept past the limit


def least(measure, enough, tries=5):
    """Returns the minimum of up to `tries` measurements; stops below `enough`. Other work on the machine only adds time."""
    best = float("inf")
    for _ in range(tries):
        best = min(best, measure())
        if best < enough:
            break
    return best


def has_line(path, kind):
    """Returns whether the unfinished profile has a line of that kind."""
    try:
        with open(path, "rb") as file:
            return f"\n{kind};".encode() in file.read()
    except FileNotFoundError:
        return False


def gpu_records(path):
    """Returns the number of GPU records in an unfinished profile, or None if the file does not exist."""
    try:
        return sum(row[3] for row in Profile(path).gpu())
    except FileNotFoundError:
        return None


def napping(pid):
    """Returns whether a process sleeps in nanosleep(), as a program does between its launches."""
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            return file.read().split()[:1] in (["230"], ["115"])  # clock_nanosleep on x86-64 and aarch64
    except OSError:
        return False


def threads(pid):
    return {int(tid) for tid in os.listdir(f"/proc/{pid}/task")}


def parse_folded(text):
    """Returns [(frames, value)]. Raises ValueError unless every line is `frame;frame value`."""
    stacks = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.fullmatch(r"(\S.*) (\d+)", line)
        if not match or "" in match.group(1).split(";"):
            raise ValueError(f"line {number} is not a folded stack: {line!r}")
        stacks.append((match.group(1).split(";"), int(match.group(2))))
    return stacks


def stack_engines():
    """Returns the table-based stack engines that work here."""
    return ["inproc", *(["bpf"] if doctor()["stacks"]["bpf"] == "ok" else [])]


class RuntimeTest(unittest.TestCase):
    """Gives each test its own folder, and runs gpuprof in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-test.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.profile_path = os.path.join(self.folder, "gpuprof.txt")

    def run_command(self, command, timeout=120, **options):
        return subprocess.run(
            command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False,
            **options)

    def record(self, target, options=(), expect=0, **run_options):
        """Records `target` to self.profile_path; returns (Profile, stderr)."""
        run = self.run_command([GPUPROF, "record", "-o", self.profile_path, *options, "--", *target], **run_options)
        stderr = run.stderr.decode("utf-8", "replace")
        self.assertEqual(run.returncode, expect, f"stderr of record:\n{stderr}")
        profile = Profile(self.profile_path)
        remove_perf_maps(profile)
        return profile, stderr

    def gpuprof(self, *arguments, expect=(0,)):
        run = self.run_command([GPUPROF, *arguments])
        self.assertIn(run.returncode, expect, run.stderr.decode("utf-8", "replace"))
        return run.stdout.decode("utf-8", "replace")

    def another_recording(self):
        """Copies self.profile_path as if it had been recorded again: with another id. Returns the path."""
        path = os.path.join(self.folder, "another.txt")
        with open(self.profile_path, encoding="utf-8") as file, open(path, "w", encoding="utf-8") as out:
            text, changed = re.subn(r"(?<=^META;recording;).*$", "f" * 32, file.read(), flags=re.MULTILINE)
            self.assertEqual(changed, 1)
            out.write(text)
        return path

    def folded(self, *options):
        """Returns [(frames, ns)], empty for a profile without GPU work."""
        return parse_folded(self.gpuprof("flame", "-i", self.profile_path, "--unit", "ns", *options,
                                         expect=(0, NOTHING)))

    def assert_conserved(self, profile):
        """Checks that folded ns, the profile's GPU lines and its END record agree to the nanosecond."""
        total = sum(value for _, value in self.folded())
        self.assertEqual(total, sum(row[4] for row in profile.gpu()))
        end = profile.end()
        self.assertIsNotNone(end, "the profile has no END record")
        self.assertEqual(total, end["gpu_ns"])
        self.assertEqual(end["gpu_records"], sum(row[3] for row in profile.gpu()))
        durations, counts = profile.durations(), profile.counts()
        self.assertLessEqual(durations, counts)
        if not profile.losses()["memory_limit"]:
            self.assertEqual(durations, counts)

    def assert_works_differ(self, profile):
        """Checks that no two WORK lines are alike: launches from one place have one stack, timed or not."""
        works = [tuple(row[1:]) for row in profile.of("WORK")]
        self.assertEqual(len(works), len(set(works)), works)


def remove_perf_maps(profile):
    """Removes what recorded processes named in /tmp: a later process with the same pid could not write its own file."""
    for pid, *_ in profile.processes():
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"/tmp/perf-{pid}.map")


class TimedResult(unittest.TextTestResult):
    """Measures each test: {name of the test: seconds}."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.seconds, self.begun = {}, 0.0

    def startTest(self, test):
        self.begun = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.seconds[test.id().removeprefix("__main__.")] = time.monotonic() - self.begun


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


def main(words=None):
    """Runs unittest.main, and exits with ctest's skip status if all tests were skipped. Runs the tests whose CLASS.NAME
    contains a word of the command line (default: all), except those that contain a word after "-". Prints the slowest
    tests."""
    words = sys.argv[1:] if words is None else words
    wanted, unwanted = [word for word in words if word[0] != "-"] or [""], [word[1:] for word in words if word[0] == "-"]
    tests = [test for test in tests_of(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
             if any(word in test.id() for word in wanted) and not any(word in test.id() for word in unwanted)]
    result = unittest.TextTestRunner(verbosity=2, resultclass=TimedResult).run(unittest.TestSuite(tests))
    longest = sorted(result.seconds.items(), key=lambda item: -item[1])[:10]
    print("longest:", ", ".join(f"{name} {seconds:.1f} s" for name, seconds in longest), flush=True)
    if not result.wasSuccessful() or not (result.testsRun or result.skipped):
        sys.exit(1)
    # If setUpClass skips, no test has run.
    sys.exit(SKIPPED if not result.testsRun or len(result.skipped) == result.testsRun else 0)
