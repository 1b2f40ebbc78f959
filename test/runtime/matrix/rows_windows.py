"""Rows 8 and 10: NVTX ranges, time windows, attaching to a running process."""

import collections
import json
import os
import re
import signal
import statistics
import subprocess
import time

import platforms
import rig
from measure import Failed, Skip, alive, require, require_between, require_equal
from registry import row


@row(8, "nvtx-frames")
def nvtx_frames(matrix):
    """flame shows push/pop and start/end ranges, a domain and a registered string, and --nvtx=off hides them."""
    recording = matrix.record(matrix.platform.streams(streams=1, kernels=1))
    recording.check_conserved()
    recording.check_expectations(matrix.stacks)
    require(any(key.startswith("nvtx.") for key in recording.expect), "the program has no ranges")
    shown = recording.flame("--nvtx=frames", "--unit", "ns")
    hidden = recording.flame("--nvtx=off", "--unit", "ns")
    require_equal(sum(value for _, value in shown), recording.profile.end()["gpu_ns"], "flame --nvtx=frames")
    require_equal(sum(value for _, value in hidden), recording.profile.end()["gpu_ns"], "flame --nvtx=off")
    frames = {frame for stack, _ in shown for frame in stack} - {frame for stack, _ in hidden for frame in stack}
    for name in ("step", "inner", "span", "assemble"):
        require(any(name in frame for frame in frames), f"a frame of range {name}: {sorted(frames)}")


@row(8, "nvtx-filter")
def nvtx_filter(matrix):
    """flame --nvtx=filter shows only work inside ranges."""
    recording = matrix.record(matrix.platform.streams(streams=1, kernels=1))
    inside = sum(numbers[1] for work, numbers in recording.profile.measured("GPU") if work.range != "0")
    require_equal(recording.folded_total("--nvtx=filter", "--unit", "ns"), inside, "ns inside of ranges")
    require(0 < inside < recording.profile.end()["gpu_ns"], f"{inside} ns inside of ranges")


@row(8, "record-nvtx-range")
def record_nvtx_range(matrix):
    """record --nvtx-range records only launches inside the range, and counts the others as outside."""
    whole = matrix.record(matrix.platform.streams(streams=1, kernels=1))
    for name, path in (("step", "step"), ("assemble@solver", "solver:assemble")):
        recording = matrix.record(matrix.platform.streams(streams=1, kernels=1), "--nvtx-range", name)
        recording.check_conserved(vendor=False)
        ranges = recording.profile.ranges
        outside = [ranges.get(work.range) for work, _ in recording.profile.measured("GPU")
                   if path not in (ranges.get(work.range) or "")]
        require_equal(outside, [], f"--nvtx-range {name}: work outside of it")
        inside = sum(numbers[0] for work, numbers in whole.profile.measured("GPU")
                     if path in (whole.profile.ranges.get(work.range) or ""))
        end = recording.profile.end()
        require_equal(end["gpu_records"], inside, f"--nvtx-range {name}: records")
        require_equal(recording.profile.coverage().get("outside_range", 0),
                      whole.profile.end()["gpu_records"] - inside, f"--nvtx-range {name}: records outside")


@row(8, "nvtx-endless-names", only="mock")
def nvtx_endless_names(matrix):
    """Tens of thousands of ranges with different numbers: each launch has its ranges, and their memory is bounded."""
    app = os.path.join(matrix.platform.mocks, "mock_nvtx_app")
    if not os.path.exists(app):
        raise Skip(f"no {app}")
    pairs = 40000
    recording = matrix.record(platforms.Program([app, "--xla", str(pairs)], json.loads), "--stacks=none")
    recording.check_conserved()
    profile = recording.profile
    require_equal(profile.end()["launches"], pairs, "launches")
    launches = collections.Counter()
    for work, numbers in profile.measured("GPU"):
        launches[profile.ranges[work.range]] += numbers[0]
    exact = re.compile(r"XlaModule:#hlo_module=jit_f,program_id=(\d+)#;Thunk:#name=fusion\.\1,hlo_op=[0-9a-f]+#")
    folded = launches.pop("XlaModule:#hlo_module=jit_f,program_id=[N]#;Thunk:#name=fusion.[N],hlo_op=[N]#", 0)
    halves = {path for path in launches if not exact.fullmatch(path)}
    require(all("[N]" in path for path in halves) and len(halves) <= 1, f"other paths: {sorted(halves)[:5]}")
    require_equal(sum(launches.values()) + folded, pairs, "launches inside of both ranges")
    renamed = folded + sum(launches[path] for path in halves)
    require_equal(profile.losses(), {"range_limit": renamed}, "losses")
    require_between(5000, len(launches), 16384, "paths kept as they are")
    require_between(0, recording.expect["grown_kib"], 16 << 10, "KiB that the second half of the run grew by")
    return f"{len(launches)} paths as they are, {folded} launches folded"


def ended_windows(recorder):
    return len(rig.Profile(recorder.path).of("WINDOW")) if os.path.exists(recorder.path) else 0


@row(8, "window-delay-duration", tries=3)
def window_delay_duration(matrix):
    """--delay and --duration give one window of that length; the target runs to its own end."""
    recorder = matrix.start_recording(matrix.platform.endless(), "--delay", "1", "--duration", "1.5")
    recorder.wait_for(lambda: ended_windows(recorder) > 0, "window")
    recorder.stop(signal.SIGTERM)
    recording = recorder.recording()
    recording.check_conserved(vendor=False)
    windows = recording.windows()
    require_equal(len(windows), 1, "windows")
    start = int(recording.profile.meta()["start_ns"][0])
    require_between(1e9, windows[0][0] - start, 1.2e9, "beginning of the window, ns after the recorder's")
    require_between(1.5e9, windows[0][1] - windows[0][0], 1.7e9, "length of the window, ns")
    require(recording.profile.end()["gpu_records"] > 0, "no work in the window")
    recording.check_shares()


@row(8, "window-signals", tries=3)
def window_signals(matrix):
    """--start-paused with SIGUSR1 (on) and SIGUSR2 (off), twice: two windows, and no work outside them."""
    recorder = matrix.start_recording(matrix.platform.endless(), "--start-paused", "--timeline")
    recorder.wait_for(recorder.begun, "recording of the process")
    sent = []
    for number in (1, 2):
        sent.append(time.monotonic_ns())
        os.kill(recorder.pid, signal.SIGUSR1)
        time.sleep(1)
        sent.append(time.monotonic_ns())
        os.kill(recorder.pid, signal.SIGUSR2)
        recorder.wait_for(lambda count=number: ended_windows(recorder) >= count, f"window {number}")
        time.sleep(0.5)
    recorder.stop(signal.SIGTERM)
    recording = recorder.recording()
    recording.check_conserved(vendor=False)
    windows = recording.windows()
    require_equal(len(windows), 2, f"windows {windows}")
    slack = 100000000  # a switch takes effect within 0.1 s
    for signalled, switched in zip(sent, [at for window in windows for at in window]):
        require_between(0, switched - signalled, slack, f"ns from a signal to its effect, of {windows}")
    outside = [event for event in recording.gpu_events()
               if not any(start - slack <= event[2] <= end + slack for start, end in windows)]
    require_equal(len(outside), 0, f"of {len(recording.gpu_events())} EVENTs, those outside of the windows")
    require(recording.profile.end()["gpu_records"] > 0, "no work in the windows")


@row(10, "attach-durations")
def attach_durations(matrix):
    """record -p gets durations and stacks of a running process, and the process goes on after the detach."""
    target = matrix.start_endless()
    try:
        before = rig.threads(target.pid)
        recorder = matrix.attach(target.pid)
        recorder.wait_for_records(2000)
        ours = thread_of_library(target, before)
        require_equal(recorder.stop(), 0, f"exit status of record -p: {recorder.stderr()[-500:]}")
        recording = recorder.recording()
        recording.check_conserved(vendor=False)
        require(recording.profile.end()["gpu_records"] > 100, f"records: {recording.profile.end()}; {recording.stderr}")
        if matrix.stacks:
            require(recording.site(matrix.platform.loop_site) > 100, "records with the launch site on their stack")
        wait_until_left(target, ours)
        time.sleep(0.5)
        require(alive(target.pid), "the target died when the recorder left")
        second = attach_again(matrix, target)
        require(alive(target.pid), "the target died after the second time")
    finally:
        target.kill()
    return f"{recording.profile.end()['gpu_records']} and {second.profile.end()['gpu_records']} records"


def thread_of_library(target, before):
    """Returns the first thread that the library started; later threads belong to CUPTI."""
    return min(rig.threads(target.pid) - before)


def wait_until_left(target, thread):
    require(rig.wait_for(lambda: not alive(target.pid) or thread not in rig.threads(target.pid), 60),
            "the library is still at work in the target")


def attach_again(matrix, target):
    recorder = matrix.attach(target.pid)
    recorder.wait_for_records(1000)
    recorder.stop()
    second = recorder.recording()
    require(second.profile.end()["gpu_records"] > 100, f"attached a second time: {second.stderr[-500:]}")
    return second


@row(10, "attach-exact")
def attach_exact(matrix):
    """Each record between the attach and the target's end is counted."""
    go = matrix.path("go")
    program = matrix.platform.graphs(go=go, child=False)
    target = matrix.start(program)
    target.wait_for_line("replaying")
    recording = matrix.attach_until_end(program, target, go)
    require_equal(recording.profile.end()["gpu_records"], recording.expect["records"], recording.stderr[-300:])


@row(10, "attach-graphs")
def attach_graphs(matrix):
    """A process that replays CUDA graphs goes on after the detach. If CUPTI was removed, its next replay would fail."""
    target = matrix.start_endless(graphs=True)
    try:
        for _ in range(2):
            recorder = matrix.attach(target.pid)
            recorder.wait_for_records(2000)
            require_equal(recorder.stop(), 0, f"exit status of record -p: {recorder.stderr()[-500:]}")
            time.sleep(1)
            require(alive(target.pid), f"the target died after the recorder had left: {recorder.stderr()[-500:]}")
            require(recorder.recording().profile.end()["gpu_records"] > 2000, recorder.stderr()[-500:])
    finally:
        target.kill()


@row(10, "attach-recorder-killed")
def attach_recorder_killed(matrix):
    """After SIGKILL of an attached recorder, the library ends its threads. The target goes on and can be attached to again."""
    target = matrix.start_endless()
    try:
        before = rig.threads(target.pid)
        recorder = matrix.attach(target.pid)
        recorder.wait_for_records(1)
        ours = thread_of_library(target, before)
        recorder.kill()
        require(recorder.recording().folded_total("--unit", "ns") > 0, "nothing was recorded before the kill")
        wait_until_left(target, ours)  # the library leaves ten seconds after the recorder's last sign of life
        require(alive(target.pid), "the target died with the attached recorder")
        attach_again(matrix, target)
        require(alive(target.pid), "the target died after the second time")
    finally:
        target.kill()


@row(10, "attach-cost-goes-away")
def attach_cost(matrix):
    """After the detach, a launch costs as much as before the attach."""
    if matrix.platform.name != "gpu":
        raise Skip("a mock's launch costs say nothing")
    batches = attach_costs(matrix)
    # Native costs vary by a fifth from one second to the next on shared machines.
    require(batches["detached"] - batches["native"] < 0.3 * (batches["attached"] - batches["native"]),
            f"ns per launch: {batches}")
    return f"ns per launch {batches}"


def attach_costs(matrix):
    """Returns {"native" | "attached" | "detached": median ns per launch}."""
    target = matrix.start(matrix.platform.endless())
    try:
        time.sleep(3)
        moments = [time.monotonic()]
        recorder = matrix.attach(target.pid)
        moments.append(time.monotonic())
        time.sleep(3)
        moments.append(time.monotonic())
        recorder.stop()
        moments.append(time.monotonic() + 0.5)
        time.sleep(3.5)
    finally:
        target.kill()
    batches = [(float(at), float(ns)) for at, ns in re.findall(r"batch ([0-9.]+) s ([0-9.]+) ns", target.stdout())]
    phases = {"native": (0, moments[0]), "attached": (moments[1] + 0.5, moments[2]),
              "detached": (moments[3] + 0.5, 1e18)}
    result = {}
    for phase, (low, high) in phases.items():
        values = [ns for at, ns in batches if low < at <= high]
        if not values:
            raise Failed(f"no batch while {phase}: {recorder.stderr()[-300:]}")
        result[phase] = statistics.median(values[1:] or values)
    return result


@row(10, "attach-impossible")
def attach_impossible(matrix):
    """For a process without CUDA, record -p prints a message with a hint and does not touch the process."""
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        run = subprocess.run([rig.GPUPROF, "record", "-p", str(sleeper.pid), "-o", "/dev/null"],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
        require_equal(run.returncode, 1, f"exit status: {run.stderr}")
        require("hint:" in run.stderr, run.stderr)
        require(alive(sleeper.pid), "the process died")
    finally:
        sleeper.kill()
        sleeper.wait()
