"""Rows 4 and 5: process trees, all ways to end, long runs."""

import glob
import os
import shutil
import signal
import time

import platforms
import rig
from measure import Recording, Skip, alive, has_thread, is_function, is_kernel, require, require_between, require_equal
from registry import row


def with_work(profile):
    return {work.process for work, _ in profile.measured("GPU")}


def check_tree(matrix, way):
    """Checks that one profile holds the memory fills of all processes in the tree, and no other work."""
    recording = matrix.record(platforms.process_tree(way), "--stacks=none")
    recording.check_conserved()
    recording.check_expectations(stacks=False)
    require_equal(len(with_work(recording.profile)), recording.expect["processes"], f"{way}: processes with work")


def check_ending(matrix, way, status):
    """A process that ends some time after its work loses nothing. If it ends at once, missing work is counted."""
    for pause_ms in (1000, 2500):  # records are written twice a second, or later on a busy machine
        recording = matrix.record(platforms.process_tree(way, pause_ms=pause_ms), "--stacks=none", expect=status)
        if recording.profile.end()["gpu_records"] == recording.expect["records"]:
            break
    recording.check_conserved(vendor=False)
    recording.check_expectations(stacks=False)
    recording.check_clean(stacks=False)
    require_equal(len(with_work(recording.profile)), recording.expect["processes"], "processes with work")
    sudden = matrix.record(platforms.process_tree(way), "--stacks=none", expect=status)
    sudden.check_conserved(vendor=False)
    coverage, made = sudden.profile.coverage(), sudden.expect["records"]
    require_equal(coverage.get("launches", 0), made, "launches seen of a sudden end")
    require_equal(coverage.get("matched", 0) + coverage.get("without_record", 0), made, "launches explained")
    return f"of {made} launches before a sudden end {coverage.get('without_record', 0)} without record"


def define_trees():
    for way in ("fork-first", "fork-after", "spawn", "subprocess", "nested", "orphan", "threads", "close-all"):
        row(4, f"tree-{way}")(lambda matrix, way=way: check_tree(matrix, way))
    for way, status in (("exec", 0), ("hard-exit", 7), ("abort", -6), ("segfault", -11), ("hang-up", -1)):
        row(4, f"ending-{way}")(lambda matrix, way=way, status=status: check_ending(matrix, way, status))


define_trees()


@row(4, "tree-stacks")
def tree_with_stacks(matrix):
    """If stacks are recorded, a child made by fork and exec has stacks of its own."""
    matrix.need_stacks()
    recording = matrix.record(platforms.process_tree("subprocess"))
    recording.check_conserved()
    recording.check_clean()
    names = {recording.profile.frames(work.ustack)[-1] for work, _ in recording.profile.measured("GPU")
             if recording.profile.frames(work.ustack)}
    require(names, "no stacks")


@row(4, "tree-two-devices", only="gpu")
def tree_two_devices(matrix):
    """If two processes each use their own GPU number 0, the profile has two devices, distinguished by UUID."""
    matrix.need_devices(2)
    command = platforms.process_tree("work").command
    script = 'for device in 0 1; do CUDA_VISIBLE_DEVICES=$device "$@" & done; wait'
    program = platforms.Program(["bash", "-c", script, "bash", *command])
    recording = matrix.record(program, "--stacks=none")
    recording.check_conserved()
    devices = {work.device for work, _ in recording.profile.measured("GPU")}
    require_equal(len(devices), 2, "devices with work")


@row(4, "merge")
def merge(matrix):
    """`merge` of two profiles adds their sums."""
    parts = [matrix.record(matrix.platform.sites()), matrix.record(platforms.process_tree("spawn"))]
    merged = matrix.path("merged")
    parts[0].gpuprof("merge", "-o", merged, parts[0].path, parts[1].path)
    whole = Recording(merged, None, "", "", 0)
    whole.check_conserved(vendor=False)
    for what in ("gpu_ns", "gpu_records", "launches", "with_stack", "lost"):
        require_equal(whole.profile.end()[what], sum(part.profile.end()[what] for part in parts), f"merged {what}")
    stacks = {}
    for part in parts:
        for frames, value in part.flame("--unit", "ns"):
            stacks[tuple(frames)] = stacks.get(tuple(frames), 0) + value
    require_equal({tuple(frames): value for frames, value in whole.flame("--unit", "ns")}, stacks, "folded stacks")


@row(5, "killed-target", tries=3)
def killed_target(matrix):
    """After SIGKILL of the target the profile is complete, and has work of the last 1.5 s before the kill."""
    recorder = matrix.start_recording(matrix.platform.endless())
    recorder.wait_for_records(5000)  # the program has worked for more than a second
    killed = time.monotonic_ns()
    os.kill(child_of(recorder.pid), signal.SIGKILL)
    require_equal(recorder.wait(30), -signal.SIGKILL, "exit status of record")
    recording = recorder.recording()
    recording.check_conserved(vendor=False)
    last = last_slice_end(recording.profile)
    require(last > killed - 1500000000, f"the last work is {(killed - last) / 1e9:.2f} s before the kill")
    return f"{recording.profile.end()['gpu_records']} records"


def child_of(pid):
    """Returns the first child of any thread of the process."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for path in glob.glob(f"/proc/{pid}/task/*/children"):
            with open(path, encoding="ascii") as file:
                children = file.read().split()
            if children:
                return int(children[0])
        time.sleep(0.05)
    raise Skip("/proc does not list the recorder's children")


def last_slice_end(profile):
    """Returns the upper end of the last slice that has GPU work, in CLOCK_MONOTONIC ns."""
    meta = profile.meta()
    last = max(int(line[0]) for line in profile.of("GPU"))
    return int(meta["start_ns"][0]) + (last + 1) * int(meta["interval_ns"][0])


@row(5, "killed-recorder")
def killed_recorder(matrix):
    """After SIGKILL of the recorder the target goes on unharmed, and the profile is readable."""
    recorder = matrix.start_recording(matrix.platform.endless())
    recorder.wait_for_records(1)
    target = child_of(recorder.pid)
    recorder.kill()
    time.sleep(1.5)
    try:
        require(alive(target), "the target died with its recorder")
    finally:
        if alive(target):
            os.kill(target, signal.SIGKILL)
    recording = recorder.recording()
    require_equal(recording.profile.end(), None, "END of a profile whose recorder was killed")
    total = recording.folded_total("--unit", "ns")
    require_equal(total, sum(numbers[1] for _, numbers in recording.profile.measured("GPU")), "folded ns")
    require(total > 0, "nothing was recorded")


@row(5, "overhead-budget")
def overhead_budget(matrix):
    """--max-overhead records windows of the time, and estimates the rest without bias."""
    matrix.need_stacks()
    limit = "1" if matrix.platform.name == "gpu" else "0.1"
    recording = matrix.record(matrix.platform.many(), "--max-overhead", limit)
    expected = recording.expect["records"]
    weighted = sum(numbers[0] for _, numbers in recording.profile.measured("GPU"))
    require_equal(weighted, recording.profile.end()["gpu_records"], "records of the windows, weighted")
    windows = [line for line in recording.profile.of("WINDOW") if len(line) == 3]
    require(windows, f"no window has a weight: {recording.stderr[-300:]}")
    coverage = recording.profile.coverage()
    require(coverage["matched"] < expected / 2, f"{coverage['matched']} of {expected} launches were recorded")
    # The profile says how many launches are estimated before the first window and after the last one.
    margin = 0.05 * expected + coverage.get("extrapolated", 0)
    require_between(expected - margin, recording.folded_total("--weight", "count"), expected + margin, "estimated launches")
    require("estimate: " in recording.stderr, f"the summary does not say so: {recording.stderr[-300:]}")
    told = recording.gpuprof("report", "--json", "-i", recording.path)
    require("all numbers are estimates" in told, f"report does not say so: {told[:300]}")
    sites = [recording.site(site) for site in matrix.platform.even_sites]
    require_between(0.4, sites[0] / sum(sites), 0.6, f"share of the first of {sites}")


@row(5, "overhead-budget-delay")
def overhead_budget_delay(matrix):
    """With --max-overhead, launches before the end of --delay belong to no estimate."""
    matrix.need_stacks()
    begun = time.monotonic()
    recording = matrix.record(matrix.platform.many(), "--max-overhead", "0.1", "--delay", "2s")
    share = 1 - 2 / (time.monotonic() - begun)
    represented = recording.profile.coverage()["represented"]
    require_between(0, represented / recording.expect["records"], (1 + share) / 2, "share of the launches in the estimate")
    return f"{100 * represented / recording.expect['records']:.1f}%, of the time {100 * share:.1f}%"


@row(5, "burst-counted", only="mock")
def burst_counted(matrix):
    """If records come faster than they can be sent, each lost record is counted."""
    program = matrix.platform.sites(250000)
    recorder = matrix.start_recording(program)
    target = child_of(recorder.pid)
    require(rig.wait_for(lambda: has_thread(target, "gpuprof-flush"), pause=0.001), "the library did not connect")
    recorder.process.send_signal(signal.SIGSTOP)
    rig.wait_for(lambda: not alive(target), 7)  # the library would leave the target after ten seconds
    recorder.process.send_signal(signal.SIGCONT)
    require_equal(recorder.wait(), 0, "the recorder's exit status")
    recording = recorder.recording()
    recording.check_conserved(vendor=False)
    end = recording.profile.end()
    losses = recording.profile.losses()
    stacks = losses["stack_not_taken"]
    lost = recording.profile.lost_work()
    require(stacks > 0 and lost > 0, "no GPU record was lost, or no stack was lost")
    without = recording.profile.coverage().get("without_stack", 0)
    # A synchronization has a stack, but no GPU record. So has the duration of a launch that took long, because the
    # thread was not on a processor. If the stack is lost, the duration mostly is, too, as a detail.
    others = 1 + losses.get("details_lost", 0)
    require_between(without, stacks, without + lost + others, "stacks lost")
    require_equal(end["launches"], recording.expect["launches"], "launches seen")
    require_equal(end["gpu_records"] + lost, recording.expect["records"], "records there and records lost")
    return f"of {recording.expect['records']} records: {dict(losses)}"


@row(5, "bounded-profile")
def bounded_profile(matrix):
    """A profile grows with distinct stacks and with time (two writes a second), but not with the number of launches."""
    recording = matrix.record(matrix.platform.sites(20000), "--interval", "3600")
    recording.check_conserved()
    writes = 2 * recording.wall_ns() / 1e9 + 3
    works, lines = len(recording.profile.of("WORK")), len(recording.profile.of("GPU"))
    require(works < 40, f"{works} WORK lines of three sites")
    require(lines <= works * writes, f"{lines} GPU lines of {works} works in {writes:.0f} writes")
    return f"{works} WORK lines, {lines} GPU lines"


def launcher(name, *arguments):
    path = shutil.which(name) or next(iter(glob.glob(f"/opt/*/.venv/bin/{name}")), None)
    if path is None:
        raise Skip(f"no {name} here")
    return [path, *arguments]


def check_ranks(matrix, command, program):
    """Two ranks under a launcher: one profile has both ranks and all of their work."""
    recording = matrix.record(platforms.Program([*command, *program.command], lambda _: {}), timeout=120)
    recording.check_conserved(vendor=False)
    require_equal(recording.profile.end()["gpu_records"], 2 * program.records, "records of two ranks")
    roots = {frames[0] for frames, _ in recording.flame("--by", "rank")}
    require_equal(roots, {"rank 0", "rank 1"}, "flame --by rank")


def two_ranks(matrix):
    program = matrix.platform.loop(300)
    program.records = program.expectations("")["records"] if matrix.platform.name == "gpu" else 300
    return program


@row(4, "mpirun")
def mpirun(matrix):
    check_ranks(matrix, launcher("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"), two_ranks(matrix))


@row(4, "torchrun")
def torchrun(matrix):
    check_ranks(matrix, launcher("torchrun", "--no-python", "--nproc-per-node", "2"), two_ranks(matrix))


@row(5, "flush-each-second")
def flush_each_second(matrix):
    """While the target runs, its work arrives in the file within two seconds, in complete lines."""
    recorder = matrix.start_recording(matrix.platform.endless())
    try:
        recorder.wait_for_records(1)
        seconds = []
        for _ in range(5):
            begin = time.monotonic()
            recorder.wait_for_records(rig.gpu_records(recorder.path) + 1)
            seconds.append(time.monotonic() - begin)
        # The second-shortest time is compared: the shortest may be luck, and other work on the machine delays some.
        require(sorted(seconds)[1] < 1.2, f"seconds between records in the file: {seconds}")
    finally:
        os.kill(child_of(recorder.pid), signal.SIGKILL)
        recorder.wait(30)
    return f"more records after {', '.join(f'{one:.2f}' for one in seconds)} s"


@row(5, "torch-step", only="gpu")
def torch_step(matrix):
    """Records a PyTorch training step, and the same step as a CUDA graph."""
    python = matrix.platform.torch()
    if python is None:
        raise Skip("python3 has no PyTorch that sees a GPU")
    said = []
    for options in ([], ["--graph"], ["--nvtx"]):
        program = platforms.Program([python, platforms.TORCH_STEP, "--layers", "4", "--steps", "10", *options])
        recording = matrix.record(program, timeout=300)
        recording.check_conserved()
        recording.check_clean(matrix.stacks)
        if options == ["--nvtx"]:
            paths = set(recording.profile.ranges.values())
            require({"step", "step;forward", "step;optimizer"} <= paths, f"NVTX ranges: {sorted(paths)}")
        said.append(f"{' '.join(options) or 'step'}: {recording.profile.end()['gpu_records']} records")
    return "; ".join(said)
