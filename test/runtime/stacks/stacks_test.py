#!/usr/bin/env python3
"""Compares stacks that are known by construction, frame by frame, with the result of each stack engine.

For each launch, every target writes the kernel's name and the calling functions to $STACKS_EXPECTED, outermost first. `*`
stands for any number of foreign frames (libc, the loader, a language's runtime). `!` stands for frames that cannot be
walked: the stack must be marked as truncated.

    stacks_test.py                          what ctest runs
    stacks_test.py --random N [--seed N]    N random stacks from each engine
"""

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import rig  # pylint: disable=wrong-import-position
import stack_start  # pylint: disable=wrong-import-position

TARGETS = os.environ.get("STACKS_DIR", os.path.join(os.path.dirname(rig.GPUPROF), "test/runtime/stacks"))
MOCKS = os.environ.get("MOCK_CUDA_DIR", os.path.join(os.path.dirname(rig.GPUPROF), "test/mocks"))
ENGINES = ("inproc", "bpf")
WHOLE_TRIES = 3
OTHERS = "*"
BROKEN = "!"
MOST_OTHERS = 30  # maximum number of frames that one `*` may stand for
LAUNCH = "cuLaunchKernel"
# Times from load to launch, in ms: the BPF program knows a library only after the recorder has read the mappings.
KNOWN_MS = (300, 2000)  # the second value is tried if the recorder was delayed
LIBRARIES = 150  # the recorder makes unwind tables for each
NOTE = b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0"  # precedes a build id of 20 bytes in a file
RANDOM_STACKS = 500  # number of stacks if ctest runs the test
RANDOM_BATCH = 2000  # stacks per recording

LIBC = re.compile(r"(libc|ld-linux|libpthread|libstdc\+\+)")

# `begins`: according to its code, the frame is the first of a program or thread.
Frame = collections.namedtuple("Frame", "kind name module address begins")


def plain(name):
    """Returns a function's name without its arguments, template arguments and clone suffix."""
    return re.split(r"[(.@ ]", name, maxsplit=1)[0] or name


class Symbols:
    """The functions of an ELF file by address, from nm."""

    def __init__(self, path):
        self.functions = []
        for line in subprocess.run(["nm", "-S", "--defined-only", path], capture_output=True, text=True,
                                   check=True).stdout.splitlines():
            fields = line.split()
            if len(fields) == 4 and fields[2] in "tTwWi":
                self.functions.append((int(fields[0], 16), int(fields[1], 16), fields[3]))

    def name(self, address):
        return next((name for begin, size, name in self.functions if begin <= address < begin + size), None)


class Recorded:
    """The launches in a profile, as {kernel: {stack: launches}}. A stack is a tuple of Frames, outermost first."""

    def __init__(self, profile, symbols=None):
        stacks = {key: tuple(self.frame(frame, symbols) for frame in frames) for key, frames in profile.stacks.items()}
        self.kernels = collections.defaultdict(collections.Counter)
        for work, numbers in profile.measured("GPU"):
            if work.op == "kernel":
                self.kernels[work.name][stacks.get(work.ustack, ())] += numbers[0]

    @staticmethod
    def frame(frame, symbols):
        module = os.path.basename(frame.module)
        found = symbols.name(frame.address) if symbols and module.startswith("stacks_") else None
        begins = stack_start.begins_program(frame.module, frame.address) or \
            stack_start.begins_thread(frame.module, frame.address)
        return Frame(frame.kind, found or frame.name, module, frame.address, begins)


def read_expected(path):
    """Returns ({kernel: {functions: launches}}, {note: value})."""
    kernels, notes = collections.defaultdict(collections.Counter), {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                name, value = line[1:].split()
                notes[name] = int(value)
            else:
                kernel, *functions = line.rstrip("\n").split(";")
                kernels[kernel][tuple(functions)] += 1
    return kernels, notes


def begins_like_a_thread(frames, first):
    """Returns what is wrong with the frames outside the target's first function, or None."""
    names = [plain(frame.name) for frame in frames]
    if first == "asm_context_begin":
        return None if not frames else f"frames above the context's first: {names}"
    if not frames:
        return "nothing above the first function"
    if first == OTHERS:
        # `*` matches any frames, so a stack that was cut could match. Hence the outermost frame must be one without a caller.
        return None if names[0] == "_start" or frames[0].begins else f"cut above {first}: {names}"
    libc = all(LIBC.match(frame.module) for frame in frames[1:])
    if names[0] == "_start" or frames[0].module.startswith("ld-linux"):
        return None if libc else f"between _start and {first}: {names}"
    if first == "main" or not LIBC.match(frames[0].module) or not libc:
        return f"above {first}: {names}"
    # Only start_thread and clone3, or the first frame of a context, may be outside the first function. Their names are not
    # checked, because libc may lack them.
    return None if len(frames) <= 3 else f"above {first}: {names}"


def difference(frames, functions, ours):
    """Returns what is wrong with a recorded stack, or None. `ours`: the target's functions, which `*` does not match."""
    cut = any(frame.kind == "truncated" for frame in frames)
    if functions[0] == BROKEN and not cut:
        return f"not marked as truncated: {[frame.name for frame in frames[:12]]} ({len(frames)} frames)"
    if functions[0] != BROKEN and cut:
        return f"truncated after {[frame.name for frame in frames[:4]]} ({len(frames)} frames)"
    names = [plain(frame.name) for frame in frames]
    if LAUNCH not in names:
        return f"no {LAUNCH} in {names[-12:]} ({len(names)} frames)"
    names = names[:names.index(LAUNCH)]
    first = functions[0]
    if first == BROKEN:
        return mismatch(names[-len(functions[1:]):], functions[1:], ours)
    if first == OTHERS:
        wanted = functions[1:]
        begin = names.index(wanted[0]) if wanted[0] in names else len(names)
    else:
        wanted = functions
        begin = names.index(first) if first in names else len(names)
    fault = begins_like_a_thread(frames[:begin], first)
    if fault:
        return f"{fault} ({len(frames)} frames)"
    return mismatch(names[begin:], wanted, ours)


def mismatch(names, wanted, ours):
    at = 0
    for number, function in enumerate(wanted):
        if function == OTHERS:
            skipped = 0
            while at < len(names) and names[at] not in ours and skipped < MOST_OTHERS:
                at += 1
                skipped += 1
        elif at < len(names) and names[at] == plain(function):
            at += 1
        else:
            return f"frame {number} should be {function}: ...{list(wanted[max(number - 3, 0):number + 3])}, " \
                   f"is ...{names[max(at - 3, 0):at + 3]} ({len(names)} of ours, {len(wanted)} wanted)"
    return None if at == len(names) else f"{len(names) - at} more frames after {wanted[-1]}: {names[at:at + 5]}"


def cut_difference(frames, functions, ours):
    """Returns what is wrong with a stack, or None. The stack may be cut anywhere if it is marked as truncated."""
    fault = difference(frames, functions, ours)
    cuts = ((BROKEN, *functions[at:]) for at in range(1, len(functions)))
    return None if fault is None or any(difference(frames, cut, ours) is None for cut in cuts) else fault


def compare(recorded, expected, difference=difference):  # pylint: disable=redefined-outer-name
    """Returns a list of what is wrong, one item per kernel."""
    ours = {plain(name) for stacks in expected.values() for stack in stacks for name in stack} | {"main"}
    faults = []
    for kernel, stacks in expected.items():
        seen = dict(recorded.kernels.get(kernel, {}))
        if sum(seen.values()) != sum(stacks.values()):
            faults.append(f"{kernel}: {sum(seen.values())} launches instead of {sum(stacks.values())}")
            continue
        for functions, count in stacks.items():
            why, left = "no stack", count
            for frames in list(seen):
                fault = difference(frames, functions, ours) if frames else "no stack"
                if fault is None:
                    left -= seen.pop(frames)
                else:
                    why = fault
            if left != 0:
                faults.append(f"{kernel}: {left} of {count} launches differ: {why}")
                break
    return faults


def report(faults, total):
    shown = "\n  ".join(faults[:12])
    return f"{len(faults)} of {total} kernels differ:\n  {shown}"


class Stacks(rig.RuntimeTest):
    def record_target(self, engine, command, symbols=None, variables=None, **options):
        """Records a target. Returns (Recorded, expected, notes). `variables`: more of its environment."""
        if engine == "bpf" and rig.unmet(("ebpf",)):
            self.skipTest(rig.unmet(("ebpf",)))
        if not os.path.exists(command[0]):
            self.skipTest(f"{os.path.basename(command[0])} was not built: its compiler is missing")
        path = os.path.join(self.folder, "expected")
        if os.path.exists(path):  # a target would append to the file of an earlier recording
            os.unlink(path)
        environment = {**os.environ, "LD_LIBRARY_PATH": MOCKS, "STACKS_EXPECTED": path, **(variables or {})}
        profile, stderr = self.record(command, [f"--stacks={engine}"], env=environment, **options)
        self.assertNotIn("malformed", stderr)
        expected, notes = read_expected(path)
        return Recorded(profile, symbols), expected, notes

    def check_target(self, engine, name, *arguments, symbols=None):
        command = [os.path.join(TARGETS, name), *arguments]
        return self.check_recordings(engine, lambda: self.record_target(engine, command, symbols))

    def check_recordings(self, engine, record):
        """Checks a recording. `record` returns (Recorded, expected, ...). Returns the last of these values.

        The walk of `bpf` marks a stack as truncated if another thread changes the mappings while the walk checks them.
        So no recording may have a wrong stack, but only one of WHOLE_TRIES must be without truncated ones."""
        tries = WHOLE_TRIES if engine == "bpf" else 1
        for left in reversed(range(tries)):
            recorded, expected, *rest = record()
            whole = not compare(recorded, expected)
            if whole or left == 0 or compare(recorded, expected, cut_difference):
                break
        self.check_all(recorded, expected)
        return rest[-1] if rest else None

    def check_all(self, recorded, expected):
        faults = compare(recorded, expected)
        if faults:
            self.fail(report(faults, len(expected)))

    def check_c(self, engine, name, **options):
        notes = self.check_target(engine, name, **options)
        self.assertEqual(notes["exec_status"], 0)
        # If no page was paged out, the test has tested nothing.
        self.assertGreater(notes["stack_pages_out"], 20)
        self.assertGreater(notes["code_pages_out"], 5)

    def check_stripped(self, engine):
        self.check_c(engine, "stacks_c_stripped", symbols=Symbols(os.path.join(TARGETS, "stacks_c_o3")))

    def load(self, engine, second, rounds, loaded_ms):
        """Loads two libraries alternately, and uses each `loaded_ms` after its load. Returns (Recorded, expected)."""
        libraries = [os.path.join(TARGETS, f"libstacks_library_{letter}.so") for letter in ("a", second)]
        recorded, expected, notes = self.record_target(
            engine, [os.path.join(TARGETS, "stacks_loader"), *libraries, str(rounds), "20", str(loaded_ms)])
        self.assertGreater(notes["libraries_at_the_same_address"], rounds // 2)
        return recorded, expected

    def load_copies(self, variables=None, **options):
        """Loads two libraries by relative paths, each for less than a millisecond, and checks all names."""
        for letter in ("a", "b"):
            shutil.copy(os.path.join(TARGETS, f"libstacks_library_{letter}.so"), self.folder)
        command = [os.path.join(TARGETS, "stacks_loader"), "./libstacks_library_a.so", "./libstacks_library_b.so", "5",
                   "0", "0"]
        recorded, expected, _ = self.record_target("inproc", command, variables=variables, **options)
        self.check_all(recorded, expected)

    def test_relative_paths(self):
        self.load_copies()

    def test_a_process_that_is_not_dumpable(self):
        """The recorder may not read the mappings of such a process, unless it is root."""
        os.chmod(self.folder, 0o777)
        user = {"user": 65534, "group": 65534, "extra_groups": ()} if os.geteuid() == 0 else {}
        loader = os.path.join(TARGETS, "stacks_loader")
        try:
            self.run_command([loader], **user)
        except PermissionError:
            self.skipTest("the build folder is not readable for other users")
        self.load_copies({"STACKS_UNDUMPABLE": "1", "HOME": self.folder}, **user)

    def check_loader(self, engine):
        self.check_recordings(engine, lambda: self.load(engine, "a", 10, 0))

    def check_replaced(self, engine):
        """Loads two libraries alternately: a library at the address of another has its own frames."""
        recorded, expected = self.load(engine, "b", 10, 0)
        if engine != "bpf":
            self.check_all(recorded, expected)
            return
        # A launch from a library that the recorder cannot know yet has a truncated stack without wrong names.
        faults = compare(recorded, expected, cut_difference)
        self.assertFalse(faults, report(faults, len(expected)))
        for known_ms in KNOWN_MS:
            recorded, expected = self.load(engine, "b", 3, known_ms)
            faults = compare(recorded, expected, cut_difference)
            self.assertFalse(faults, report(faults, len(expected)))
            whole = {kernel: stacks for kernel, stacks in expected.items() if kernel.startswith("in_")}
            if not compare(recorded, whole):
                break
        self.check_all(recorded, whole)

    def check_many_libraries(self, engine):
        """Loads copies of one library with different build ids, so that each copy needs its own unwind table."""
        with open(os.path.join(TARGETS, "libstacks_random_a.so"), "rb") as file:
            code = file.read()
        at = code.index(NOTE) + len(NOTE)
        copies = [os.path.join(self.folder, f"libcopy_{number}.so") for number in range(LIBRARIES)]
        for number, copy in enumerate(copies):
            with open(copy, "wb") as file:
                file.write(code[:at] + number.to_bytes(20, "little") + code[at + 20:])
        command = ["/usr/bin/env", "LD_PRELOAD=" + ":".join(copies), os.path.join(TARGETS, "stacks_random"), "1", "50",
                   "60", "2"]
        os.environ["GPUPROF_UNWIND_CACHE"] = ""
        self.addCleanup(os.environ.pop, "GPUPROF_UNWIND_CACHE")
        recorded, expected, _ = self.record_target(engine, command)
        self.check_all(recorded, expected)
        modules = {frame.module for stacks in recorded.kernels.values() for stack in stacks for frame in stack}
        self.assertIn("libcopy_0.so", modules)  # if not, no library was loaded

    def check_random(self, engine, stacks=RANDOM_STACKS, seed=1):
        self.check_target(engine, "stacks_random", str(seed), str(stacks), "60", "2")


def add_tests():
    """Adds test_<target>_<engine> for each combination."""
    checks = {f"c_{flags}": lambda self, engine, name=f"stacks_c_{flags}": self.check_c(engine, name)
              for flags in ("o0", "o3", "framed", "cet", "noplt", "guarded", "clang")}
    checks.update({name: lambda self, engine, target=f"stacks_{name}": self.check_target(engine, target)
                   for name in ("objects_o0", "objects_o2", "rust")})
    checks.update(stripped=Stacks.check_stripped, many_libraries=Stacks.check_many_libraries,
                  loader=Stacks.check_loader, replaced=Stacks.check_replaced, random=Stacks.check_random)
    for name, check in checks.items():
        for engine in ENGINES:
            setattr(Stacks, f"test_{name}_{engine}", lambda self, run=check, by=engine: run(self, by))


class Matching(rig.unittest.TestCase):
    """Tests the comparison itself: it must distinguish complete from incomplete stacks."""

    FRAMES = tuple(Frame("native", name, module, 0, False) for name, module in (
        ("_start", "app"), ("__libc_start_main", "libc.so.6"), ("main", "app"), ("work(int)", "app"),
        ("qsort_r", "libc.so.6"), ("compare", "app"), ("stack_launch", "x.so"), (LAUNCH, "libcuda.so.1"), ("y", "z")))
    WANTED = ("main", "work", "*", "compare", "stack_launch")

    def fault(self, frames, wanted=WANTED):
        return difference(frames, wanted, {"main", "work", "compare", "stack_launch"})

    def test_a_complete_stack_matches(self):
        self.assertIsNone(self.fault(self.FRAMES))

    def test_a_missing_or_repeated_frame_is_a_difference(self):
        for number in (0, 2, 3, 5, 6, 7):
            with self.subTest(missing=number):
                self.assertIsNotNone(self.fault(self.FRAMES[:number] + self.FRAMES[number + 1:]))
        for number in (3, 4, 6, 7):
            with self.subTest(twice=number):
                self.assertIsNotNone(self.fault(self.FRAMES[:number] + self.FRAMES[number - 1:]))

    def test_a_truncated_stack_is_a_difference(self):
        self.assertIn("truncated", self.fault((Frame("truncated", "[truncated]", "", 0, False), *self.FRAMES[2:])))
        self.assertIn("nothing above", self.fault(self.FRAMES[2:]))
        cut_in_libc = self.FRAMES[4:]
        anything = ("*", "compare", "stack_launch")
        self.assertIn("cut above", self.fault(cut_in_libc, anything))
        self.assertIsNone(self.fault((cut_in_libc[0]._replace(begins=True), *cut_in_libc[1:]), anything))
        broken = ("!", "compare", "stack_launch")
        self.assertIn("not marked", self.fault(self.FRAMES, broken))
        self.assertIsNone(self.fault((Frame("truncated", "[truncated]", "", 0, False), *self.FRAMES[2:]), broken))


def check_many(options):
    """Runs --random in batches, as a target keeps its kernels in a table of limited size."""
    faults = 0
    for engine in options.engine or ENGINES:
        done = 0
        while done < options.random:
            test = Stacks()
            test.setUp()
            number = min(RANDOM_BATCH, options.random - done)
            command = [os.path.join(TARGETS, "stacks_random"), str(options.seed + done), str(number), "60", "2"]
            recorded, expected, _ = test.record_target(engine, command)
            wrong = compare(recorded, expected)
            deepest = max(len(stack) for stacks in expected.values() for stack in stacks)
            print(f"{engine}: seed {options.seed + done}, {len(expected)} stacks, deepest {deepest}: "
                  f"{report(wrong, len(expected)) if wrong else 'all equal'}", flush=True)
            faults += len(wrong)
            done += number
            test.doCleanups()
    return 1 if faults else 0


if __name__ == "__main__":
    add_tests()
    PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    PARSER.add_argument("--random", type=int, metavar="N", help="only this: N random stacks from each engine")
    PARSER.add_argument("--seed", type=int, default=1)
    PARSER.add_argument("--engine", action="append", choices=ENGINES)
    PARSER.add_argument("pattern", nargs="?", default="", help="run only tests whose name contains this")
    OPTIONS = PARSER.parse_args()
    if OPTIONS.random:
        sys.exit(check_many(OPTIONS))
    for NAME in [name for name in dir(Stacks) if name.startswith("test_")]:
        if OPTIONS.pattern not in NAME:
            delattr(Stacks, NAME)
    rig.main([])
