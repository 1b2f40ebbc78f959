"""A recording of the matrix and its checks, computed from the profile's own lines (rig.Profile)."""

import collections
import glob
import json
import os
import re
import signal
import subprocess
import tempfile
import time

import rig

NS = 1000000000


class Failed(Exception):
    """A check of a row failed."""


class Skip(Exception):
    """A row cannot run here; the text gives the reason."""


def require(condition, text):
    if not condition:
        raise Failed(text)


def require_equal(found, expected, what):
    require(found == expected, f"{what}: {found}, expected {expected}")


def require_between(low, value, high, what):
    require(low <= value <= high, f"{what}: {value}, expected {low} to {high}")


def is_function(frame, name):
    """Returns whether a frame is that function, with or without namespaces and parameters."""
    return re.search(rf"(^|::){re.escape(name)}(\(|<|$)", frame) is not None


def is_kernel(found, name):
    """Returns whether `found`, the name of a kernel in a profile, is `name` or the mangled form of `name`."""
    return is_function(found, name) or f"_Z{len(name)}{name}" in found


class Recording:
    """Holds one profile, what the program printed, and what gpuprof printed."""

    def __init__(self, path, program, stdout, stderr, status):
        self.path, self.program, self.stderr, self.status = path, program, stderr, status
        self.expect = program.expectations(stdout) if program else {}
        self.profile = rig.Profile(path)

    def gpuprof(self, *arguments, expect=(0,)):
        run = subprocess.run([rig.GPUPROF, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                             check=False)
        stderr = run.stderr.decode("utf-8", "replace")
        require(run.returncode in expect, f"gpuprof {' '.join(arguments[:4])} ended with {run.returncode}: {stderr}")
        return run.stdout.decode("utf-8", "replace")

    def flame(self, *options):
        """Returns [(frames, value)], empty if the options select nothing."""
        return rig.parse_folded(self.gpuprof("flame", "-i", self.path, *options, expect=(0, rig.NOTHING)))

    def folded_total(self, *options):
        return sum(value for _, value in self.flame(*options))

    # ---- counts ----

    def count(self, kind, matches):
        """Returns the summed count of the lines of a kind (GPU, HOST, LAUNCH) for whose Work `matches` returns true."""
        return sum(numbers[0] for work, numbers in self.profile.measured(kind) if matches(work))

    def kernels(self, name):
        return self.count("GPU", lambda work: work.op == "kernel" and is_kernel(work.name, name))

    def ops(self, op):
        return self.count("GPU", lambda work: work.op == op)

    def on_stack(self, work, function):
        return any(is_function(frame, function) for frame in self.profile.frames(work.ustack))

    def captured_in(self, work, function):
        return any(is_function(frame, function) for frame in self.profile.frames(work.capture))

    def site(self, function, kind="GPU", op=None):
        return self.count(kind, lambda work: op in (None, work.op) and self.on_stack(work, function))

    def site_ns(self, function):
        return sum(numbers[1] for work, numbers in self.profile.measured("GPU") if self.on_stack(work, function))

    def site_bytes(self, function, op):
        return sum(numbers[4] for work, numbers in self.profile.measured("HOST")
                   if work.op == op and self.on_stack(work, function))

    def kernels_in_range(self, path):
        ranges = self.profile.ranges
        return self.count("GPU", lambda work: work.op == "kernel" and ranges.get(work.range) == path)

    def check_expectations(self, stacks=True):
        """Checks the profile against the keys that the program printed. A key that only one row has is checked by that row."""
        checks = {
            "records": lambda _: self.profile.end()["gpu_records"],
            "launches": lambda _: self.profile.end()["launches"],
            "captured_launches": lambda _: self.profile.coverage().get("captured", 0),
            "failed_launches": lambda _: self.profile.coverage().get("failed", 0),
            "host": lambda op: self.count("HOST", lambda work: work.op == op),
            "host_bytes": lambda op: sum(
                numbers[4] for work, numbers in self.profile.measured("HOST") if work.op == op),
            "kernel": self.kernels,
            "op": self.ops,
            "nvtx": self.kernels_in_range,
        }
        checked = 0
        for key, value in self.expect.items():
            word, _, rest = key.partition(".")
            if word in checks:
                found = checks[word](rest)
            elif word == "site" and stacks:
                found = self._site_value(rest)
            else:
                continue
            require_equal(found, value, key)
            checked += 1
        require(checked > 0, "the program printed nothing to compare with")
        return checked

    def _site_value(self, rest):
        function, _, op = rest.partition(".")
        if op == "bytes":
            return self.site_bytes(function, "alloc")
        return self.site(function, "HOST", op) if op else self.site(function)

    # ---- sums ----

    def check_conserved(self, vendor=True):
        """Checks that folded ns, the profile's GPU lines and its END agree; with `vendor`, also with what CUPTI delivered."""
        end = self.profile.end()
        require(end is not None, f"the profile has no END: {self.stderr[-300:]}")
        rows = self.profile.measured("GPU")
        require_equal(sum(numbers[1] for _, numbers in rows), end["gpu_ns"], "sum of GPU lines against END, ns")
        require_equal(sum(numbers[0] for _, numbers in rows), end["gpu_records"], "GPU lines against END, records")
        require_equal(self.folded_total("--unit", "ns"), end["gpu_ns"], "folded ns against END")
        require_equal(sum(self.profile.losses().values()), end["lost"], "LOSS lines against END")
        if vendor:
            require_equal(self.vendor("valid_ns"), end["gpu_ns"], "CUPTI's valid ns against END")
            require_equal(self.vendor("valid_records"), end["gpu_records"], "CUPTI's valid records against END")
        self.check_coverage()

    def vendor(self, what):
        return sum(int(value) for key, values in self.profile.meta().items()
                   if key.endswith(f".cupti.{what}") for value in values)

    def check_coverage(self):
        coverage, end = self.profile.coverage(), self.profile.end()
        require_equal(coverage.get("launches", 0), end["launches"], "COVERAGE launches against END")
        explained = sum(coverage.get(what, 0) for what in ("matched", "captured", "failed", "without_record"))
        require_equal(explained, end["launches"], f"launches explained by {coverage}")

    def check_clean(self, stacks=True):
        end = self.profile.end()
        require_equal(end["lost"], 0, f"lost, {self.profile.losses()}")
        coverage = self.profile.coverage()
        for what in ("without_record", "without_launch"):
            require_equal(coverage.get(what, 0), 0, what)
        if stacks:
            require_equal(coverage.get("without_stack", 0), 0, "without_stack")
            require_equal(end["with_stack"], end["gpu_records"], "records with a stack")

    # ---- shares of the devices' time ----

    def windows(self):
        return [(int(start), int(end)) for start, end in self.profile.of("WINDOW")]

    def wall_ns(self):
        return sum(end - start for start, end in self.windows())

    def shares(self):
        """Returns {device: [busy, exclusive, idle]} in ns."""
        result = collections.defaultdict(lambda: [0, 0, 0])
        for work, (busy, exclusive) in self.profile.measured("SHARE"):
            result[work.device][0] += busy
            result[work.device][1] += exclusive
        for _, device, _, ns in self.profile.of("IDLE"):
            result[device][2] += int(ns)
        return result

    def check_shares(self):
        shares, wall = self.shares(), self.wall_ns()
        devices = {work.device for work, _ in self.profile.measured("GPU")}
        require_equal(set(shares), devices, "devices with shares of time")
        require(wall > 0, "no WINDOW of time")
        for device, (busy, exclusive, idle) in shares.items():
            require_equal(exclusive, busy, f"device {device}: exclusive against busy ns")
            require_equal(busy + idle, wall, f"device {device}: busy {busy} + idle {idle} against wall ns")
        for weight, index in (("busy", 0), ("exclusive", 1), ("idle", 2)):
            require_equal(self.folded_total("--weight", weight, "--unit", "ns"),
                          sum(share[index] for share in shares.values()), f"flame --weight {weight}")
        return shares

    # ---- timeline ----

    def events(self):
        """Returns [(Work, correlation, start, end, queued, submitted, bytes)]."""
        works = self.profile.works
        return [(works[row[0]], *map(int, row[1:])) for row in self.profile.of("EVENT")]

    def gpu_events(self):
        host = {"sync", "alloc", "free", "fault_gpu", "fault_cpu", "migrate_htod", "migrate_dtoh", "call"}
        return [event for event in self.events() if event[0].op not in host]

    def chrome(self):
        out = self.path + ".json"
        self.gpuprof("export", "--format", "chrome", "-i", self.path, "-o", out)
        with open(out, encoding="utf-8") as file:
            return json.load(file)


def union_ns(intervals, windows):
    """Returns the nanoseconds inside the windows that at least one interval covers."""
    clipped = sorted((max(start, low), min(end, high)) for start, end in intervals for low, high in windows)
    total, reached = 0, 0
    for start, end in clipped:
        start = max(start, reached)
        if end > start:
            total += end - start
            reached = end
    return total


class Running:
    """A started process. Its output goes into files, because a surviving child may hold pipes open."""

    def __init__(self, command, folder, env):
        with tempfile.NamedTemporaryFile("wb", dir=folder, prefix="stdout-", delete=False) as out, \
                tempfile.NamedTemporaryFile("wb", dir=folder, prefix="stderr-", delete=False) as err:
            self.out, self.err = out.name, err.name
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env)
        self.pid = self.process.pid

    def stdout(self):
        with open(self.out, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stderr(self):
        with open(self.err, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_for_line(self, text, seconds=20):
        deadline = time.monotonic() + seconds
        while text not in self.stdout():
            require(time.monotonic() < deadline and self.process.poll() is None,
                    f"the program did not print {text!r}: {self.stdout()[-200:]} {self.stderr()[-300:]}")
            time.sleep(0.02)

    def wait(self, seconds=60):
        """Returns the exit status. Kills the process if it does not end in time."""
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed(f"did not end within {seconds} s: {self.stderr()[-300:]}") from None

    def stop(self, number=signal.SIGINT, seconds=30):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait(seconds)

    def kill(self):
        self.process.kill()
        self.process.wait()


class RunningRecorder(Running):
    """Runs gpuprof record and holds its profile."""

    def __init__(self, command, folder, env, path, program=None):
        super().__init__(command, folder, env)
        self.path, self.program = path, program

    def begun(self):
        """Returns whether recording has begun: the profile then has a process."""
        return rig.has_line(self.path, "PROCESS")

    def wait_for_records(self, count, seconds=60):
        """Waits until the file has this many GPU records."""
        self.wait_for(lambda: (rig.gpu_records(self.path) or 0) >= count, f"{count} GPU records", seconds)

    def wait_for(self, condition, what, seconds=60):
        require(rig.wait_for(lambda: condition() or self.process.poll() is not None, seconds) and condition(),
                f"no {what}; the recorder's status: {self.process.poll()}, {self.stderr()[-300:]}")

    def recording(self):
        return Recording(self.path, self.program, self.stdout(), self.stderr(), self.process.returncode)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def has_thread(pid, name):
    """Returns whether the process has a thread of that name."""
    for path in glob.glob(f"/proc/{pid}/task/*/comm"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                if file.read() == name + "\n":
                    return True
        except OSError:
            pass  # the thread has ended
    return False


def environment(**changes):
    return {name: value for name, value in {**os.environ, **changes}.items() if value is not None}
