"""What the runtime tests share: where things are, what this machine can do, and an independent reading of profiles."""

import collections
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

SKIPPED = 77  # the exit status that ctest reads as "skipped"
NOTHING = 4  # that of gpuprof for a profile that holds nothing of what was asked for

# Shells ignore these for what they start in the background, and it is inherited: Ctrl-C would end no program of a test.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _handler)

# The programs under test; ctest sets these, absolute or from the folder that the test is started in.
GPUPROF = os.path.abspath(os.environ.get("GPUPROF", "build/gpuprof"))
EXAMPLE = os.path.abspath(os.environ.get("GPUPROF_EXAMPLE", "build/examples/opencl/example_opencl"))
SOURCE = os.environ.get("GPUPROF_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
with open(os.path.join(SOURCE, "src/profile/FORMAT.md"), encoding="utf-8") as page:
    REASONS_OF_LOST_WORK = re.findall(r"^\| `(\w+)` \| work \|", page.read(), re.MULTILINE)
PYTHON_EXAMPLE = os.path.join(SOURCE, "examples/python/opencl_sites.py")


@functools.lru_cache(maxsize=None)
def doctor():
    """{section: {name: state}} as gpuprof itself sees this machine."""
    run = subprocess.run([GPUPROF, "doctor", "--json"], stdout=subprocess.PIPE, check=True)
    sections = json.loads(run.stdout)
    return {
        section: {fact["name"]: fact["state"] for fact in facts}
        for section, facts in sections.items()
        if isinstance(facts, list)
    }


@functools.lru_cache(maxsize=None)
def pyopencl_python():
    """A Python that has pyopencl, or None: the distribution's own is often not the first in PATH."""
    for python in ("/usr/bin/python3", sys.executable):
        probe = [python, "-c", "import pyopencl, numpy; pyopencl.get_platforms()"]
        if os.path.exists(python) and subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return python
    return None


def why_not(requirement):
    """None when the requirement is met, else the reason for a skip."""
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
    """A text of a profile as it was before the writer escaped it."""
    if "\\" not in text:
        return text
    raw = re.sub(rb"\\x([0-9a-fA-F]{2})", lambda match: bytes([int(match.group(1), 16)]), text.encode())
    return raw.decode("utf-8", "replace")


def unmet(requirements):
    return next((reason for reason in map(why_not, requirements) if reason), None)


def requires(*requirements):
    """Decorator of a test: skips it, with the reason, where a requirement is not met."""

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
    """A WORK record: ids as they stand in the file, but thread and name as text, and tid, stream, flags as numbers."""

    GRAPH_NODE, UNSAMPLED = 1, 2


# A frame of a CPU stack; an element that is only a text has the kind `text`. `interpreter`: its own machine code.
Frame = collections.namedtuple("Frame", "kind name file line module address interpreter")


class Profile:
    """A profile read line by line, by the words of FORMAT.md and without gpuprof's own reader."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        lines = data.split(b"\n")
        self.whole_lines = lines[:-1]  # what follows the last newline is a cut line, or nothing
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
        """{id: Work}"""
        text = self.strings()
        result = {}
        for row in self.of("WORK"):
            work = Work(*row[1:])
            result[row[0]] = work._replace(tid=int(work.tid), thread=text.get(work.thread, ""), stream=int(work.stream),
                                           name=text.get(work.name, ""), flags=int(work.flags))
        return result

    @functools.cached_property
    def stacks(self):
        """{USTACK id: [Frame]}, root first"""
        text, kinds = self.strings(), {"interpreter": "native"}
        frames = {row[0]: Frame(kinds.get(row[1], row[1]), text.get(row[2], ""), text.get(row[3], ""), int(row[4]),
                                text.get(row[5], ""), int(row[7], 0), row[1] == "interpreter")
                  for row in self.of("FRAME")}
        return {row[0]: [frames.get(element, Frame("text", element, "", 0, "", 0, False)) for element in row[1:]]
                for row in self.of("USTACK")}

    def frames(self, ustack):
        """The names of a USTACK's frames, root first; [] for none."""
        return [frame.name for frame in self.stacks.get(ustack, [])]

    @functools.cached_property
    def ranges(self):
        """{id: path of NVTX ranges, "outer;inner", a name in a domain as "domain:name"}"""
        text, paths = self.strings(), {"0": ""}
        for row in self.of("RANGE"):
            name = ":".join(filter(None, (text.get(row[2], ""), text.get(row[3], ""))))
            paths[row[0]] = ";".join(filter(None, (paths[row[1]], name)))
        return paths

    def measured(self, kind):
        """[(Work, its numbers)] of the lines of a kind that begin with slice and WORK: GPU, HOST, LAUNCH, SHARE."""
        works = self.works
        return [(works[row[1]], [int(number) for number in row[2:]]) for row in self.of(kind)]

    def meta(self):
        """{key: [values]}"""
        result = {}
        for row in self.of("META"):
            result.setdefault(row[0], []).append(unescape(row[1]))
        return result

    def coverage(self):
        """{what: count} over all processes"""
        result = {}
        for _, what, count in self.of("COVERAGE"):
            result[what] = result.get(what, 0) + int(count)
        return result

    def processes(self):
        """[(pid, ppid, name, command)] in the order of their appearance."""
        strings = self.strings()
        return [(int(r[1]), int(r[2]), strings.get(r[4], ""), strings.get(r[5], "")) for r in self.of("PROCESS")]

    def gpu(self):
        """[(process id, operation, kernel name, count, ns)], one a line of the profile."""
        return [(work.process, work.op, work.name, *numbers[:2]) for work, numbers in self.measured("GPU")]

    def end(self):
        """The totals of the END record, or None in a profile that was cut."""
        rows = self.of("END")
        names = ("end_ns", "launches", "gpu_records", "gpu_ns", "with_stack", "samples", "lost")
        return dict(zip(names, map(int, rows[-1]))) if rows else None

    def losses(self):
        """{reason: count}; each LOSS line adds to those before it."""
        result = collections.Counter()
        for _, reason, count in self.of("LOSS"):
            result[reason] += int(count)
        return result

    def lost_work(self):
        """GPU records that are counted as lost: other losses leave the work in the profile."""
        return sum(count for reason, count in self.losses().items() if reason in REASONS_OF_LOST_WORK)


def wait_for(condition, seconds=30, pause=0.05):
    """Whether the condition came true within that time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(pause)
    return bool(condition())  # we may have slept through the rest of the time


def least(measure, enough, tries=5):
    """The least of up to so many measurements; it ends with the first below `enough`. Other work can only add to them."""
    best = float("inf")
    for _ in range(tries):
        best = min(best, measure())
        if best < enough:
            break
    return best


def has_line(path, kind):
    """Whether a profile that is being written has such a line yet."""
    try:
        with open(path, "rb") as file:
            return f"\n{kind};".encode() in file.read()
    except FileNotFoundError:
        return False


def gpu_records(path):
    """GPU records in a profile that is being written, or None where there is no file yet."""
    try:
        return sum(row[3] for row in Profile(path).gpu())
    except FileNotFoundError:
        return None


def napping(pid):
    """Whether a process sleeps: a program that does so between its launches has begun with them."""
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            return file.read().split()[:1] in (["230"], ["115"])  # clock_nanosleep on x86-64 and aarch64
    except OSError:
        return False


def threads(pid):
    return {int(tid) for tid in os.listdir(f"/proc/{pid}/task")}


def parse_folded(text):
    """[(frames, value)]; every line must be `frame;frame value`, else ValueError."""
    stacks = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.fullmatch(r"(\S.*) (\d+)", line)
        if not match or "" in match.group(1).split(";"):
            raise ValueError(f"line {number} is not a folded stack: {line!r}")
        stacks.append((match.group(1).split(";"), int(match.group(2))))
    return stacks


def stack_engines():
    """Those that walk by tables and can be used here."""
    return ["inproc", *(["bpf"] if doctor()["stacks"]["bpf"] == "ok" else [])]


class RuntimeTest(unittest.TestCase):
    """A folder of its own for each test, and gpuprof run in it."""

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
        return Profile(self.profile_path), stderr

    def gpuprof(self, *arguments, expect=(0,)):
        run = self.run_command([GPUPROF, *arguments])
        self.assertIn(run.returncode, expect, run.stderr.decode("utf-8", "replace"))
        return run.stdout.decode("utf-8", "replace")

    def folded(self, *options):
        """[(frames, ns)]; none of a profile without GPU work"""
        return parse_folded(self.gpuprof("flame", "-i", self.profile_path, "--unit", "ns", *options,
                                         expect=(0, NOTHING)))

    def assert_conserved(self, profile):
        """Folded ns, the profile's GPU lines and its END record agree to the nanosecond."""
        total = sum(value for _, value in self.folded())
        self.assertEqual(total, sum(row[4] for row in profile.gpu()))
        end = profile.end()
        self.assertIsNotNone(end, "the profile has no END record")
        self.assertEqual(total, end["gpu_ns"])
        self.assertEqual(end["gpu_records"], sum(row[3] for row in profile.gpu()))


class TimedResult(unittest.TextTestResult):
    """Knows how long each test took: {name of the test: seconds}"""

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
    """unittest.main, with the status for ctest that tells a skip of everything from a pass. Runs the tests whose
    CLASS.NAME contains one of the words on the command line (default: all) and none of those that begin with "-".
    Prints which tests took the longest."""
    words = sys.argv[1:] if words is None else words
    wanted, unwanted = [word for word in words if word[0] != "-"] or [""], [word[1:] for word in words if word[0] == "-"]
    tests = [test for test in tests_of(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
             if any(word in test.id() for word in wanted) and not any(word in test.id() for word in unwanted)]
    result = unittest.TextTestRunner(verbosity=2, resultclass=TimedResult).run(unittest.TestSuite(tests))
    longest = sorted(result.seconds.items(), key=lambda item: -item[1])[:10]
    print("longest:", ", ".join(f"{name} {seconds:.1f} s" for name, seconds in longest), flush=True)
    if not result.wasSuccessful() or not (result.testsRun or result.skipped):
        sys.exit(1)
    # Where setUpClass skips, no test was run.
    sys.exit(SKIPPED if not result.testsRun or len(result.skipped) == result.testsRun else 0)
