#!/usr/bin/env python3
"""Checks the structure of exported Chrome traces: check_chrome.py GPUPROF

It checks the golden profile and a random timeline with several processes, overlapping kernels and unordered events.
"""

import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def export(gpuprof, profile):
    result = subprocess.run([gpuprof, "-q", "export", "--format", "chrome", str(profile)], capture_output=True,
                            check=False)
    assert result.returncode == 0, result.stderr.decode()
    return json.loads(result.stdout)


def ns(microseconds):
    value = round(microseconds * 1000)
    assert abs(value - microseconds * 1000) < 1e-3, f"{microseconds} us is no whole number of ns"
    return value


def check_slices(by_track):
    """Slices of a GPU track must not overlap; slices of other tracks must nest."""
    for track, slices in by_track.items():
        slices.sort(key=lambda s: (s[0], -s[1]))
        open_ends = []
        for start, end, category, name in slices:
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert category != "gpu" or not open_ends, f"{name} at {start} overlaps another slice of {track}"
            assert not open_ends or end <= open_ends[-1], f"{name} at {start} crosses the end of another of {track}"
            if end > start:
                open_ends.append(end)


def check_arrows(arrows, by_track):
    for number, ends in arrows.items():
        assert set(ends) == {"s", "f"}, f"arrow {number} has only {sorted(ends)}"
        track, start = ends["s"]
        assert any(s <= start <= e and c == "call" for s, e, c, _ in by_track[track]), f"arrow {number} starts nowhere"
        track, end = ends["f"]
        assert any(s == end and c == "gpu" for s, _, c, _ in by_track[track]), f"arrow {number} ends nowhere"
        assert end >= start, f"arrow {number} goes back in time"


def check_counters(counters):
    for pid, samples in counters.items():
        assert samples == sorted(samples), f"the counter of {pid} goes back in time"
        assert all(depth >= 0 for _, depth in samples), f"the queue of {pid} is shorter than empty"
        assert samples[-1][1] == 0, f"the queue of {pid} does not run empty"


def check_stacks(trace):
    """Each event's frame must be in the table, and each frame's parent must precede it."""
    frames = trace["stackFrames"]
    for number, frame in frames.items():
        assert frame["name"]
        assert "parent" not in frame or 0 < int(frame["parent"]) < int(number), f"frame {number} has no way to a root"
    used = {str(event["sf"]) for event in trace["traceEvents"] if "sf" in event}
    assert used <= set(frames), "an event's stack is not there"
    return used


def stack_of(trace, number):
    names = []
    while number is not None:
        frame = trace["stackFrames"][number]
        names.insert(0, frame["name"])
        number = frame.get("parent")
    return names


def long_names(events):
    """Returns a profile with templated kernel names, deep stacks and ranges."""
    name = "void at::native::vectorized_elementwise_kernel<4, " + "at::native::FillFunctor<float>, " * 20 + "int>(int)"
    lines = ["GPUPROF;3.0", "META;start_ns;1000", "STRING;1;python3", "STRING;2;cudaLaunchKernel", f"STRING;3;{name}"]
    lines += [f"STRING;{10 + i};torch::nn::Module{i}::forward(at::Tensor const&, at::Tensor const&)" for i in range(100)]
    lines += [f"FRAME;{i + 1};native;{10 + i};0;0;0;0;0x1" for i in range(100)]
    lines += [f"USTACK;{i + 1};" + ";".join(str((i + j) % 100 + 1) for j in range(40)) for i in range(100)]
    lines += ["PROCESS;1;7;1;5;1;0;0;0", "DEVICE;1;0;0;0;0", "STRING;4;step 12", "STRING;5;forward",
              "RANGE;1;0;0;4", "RANGE;2;1;0;5"]
    lines += [f"WORK;{i + 1};1;7;0;{i + 1};0;0;2;1;7;kernel;3;0" for i in range(100)]
    for i in range(events // 2):
        start = 5_000_000_000 + 10_000 * i
        lines.append(f"CALL;1;7;{i % 100 + 1};2;{i + 1};{start};{start + 2000}")
        lines.append(f"EVENT;{i % 100 + 1};{i + 1};{start + 3000};{start + 9000};{start + 1000};{start + 2000};0")
    lines.append(f"END;9;{events // 2};0;0;0;0;0")
    return "\n".join(lines) + "\n", name


def check_size(gpuprof, folder):
    events = 20_000
    text, name = long_names(events)
    path = pathlib.Path(folder) / "long.txt"
    path.write_text(text, encoding="ascii")
    result = subprocess.run([gpuprof, "-q", "export", "--format", "chrome", str(path)], capture_output=True, check=True)
    print(f"{len(result.stdout) / events:.0f} bytes an event")
    assert len(result.stdout) <= 300 * events
    trace = json.loads(result.stdout)
    used = check_stacks(trace)
    stacks = [stack_of(trace, number) for number in used]
    # The innermost frame is the full name of the kernel, which the event shows shortened.
    assert {len(stack) for stack in stacks} == {40, 41}
    assert {stack[-1] for stack in stacks if len(stack) == 41} == {name}
    assert all(len(event["name"]) <= 80 for event in trace["traceEvents"])


def check(trace):
    assert trace["displayTimeUnit"] == "ns"
    check_stacks(trace)
    by_track = collections.defaultdict(list)
    arrows = collections.defaultdict(dict)
    asynchronous = collections.Counter()
    counters = collections.defaultdict(list)
    named = {"process_name": set(), "thread_name": set()}
    pids = set()
    for event in trace["traceEvents"]:
        phase = event["ph"]
        track = (event["pid"], event["tid"])
        if phase == "M":
            if event["name"] in named:
                named[event["name"]].add(event["pid"] if event["name"] == "process_name" else track)
                assert event["args"]["name"]
            continue
        pids.add(event["pid"])
        time = ns(event["ts"])
        if phase == "X":
            assert event["dur"] >= 0
            by_track[track].append((time, time + ns(event["dur"]), event["cat"], event["name"]))
        elif phase in "sf":
            assert phase not in arrows[event["id"]], f"arrow {event['id']} has two ends of a kind"
            assert phase == "s" or event["bp"] == "e"
            arrows[event["id"]][phase] = (track, time)
        elif phase in "be":
            asynchronous[(event["cat"], event["id"])] += 1 if phase == "b" else -1
        elif phase == "C":
            counters[event["pid"]].append((time, event["args"]["depth"]))
        else:
            assert phase == "i" and event["s"] in "tg", f"unexpected event {event}"
    assert pids <= named["process_name"], "a process has no name"
    assert set(by_track) <= named["thread_name"], "a track has no name"
    assert not any(asynchronous.values()), "an asynchronous range is open"
    check_slices(by_track)
    check_arrows(arrows, by_track)
    check_counters(counters)
    return by_track, arrows


def random_profile(seed):
    """Returns the text, the number of GPU events, and how many of them have a call."""
    rng = random.Random(seed)
    lines = ["GPUPROF;3.0", "META;start_ns;1000", "STRING;1;app", "STRING;2;cudaLaunchKernel", "STRING;3;kernel;x"]
    lines[-1] = "STRING;3;kernel"
    works = []
    for process in range(1, 4):
        lines.append(f"PROCESS;{process};{500 if process < 3 else 501};1;0;1;0;0;0")  # a process keeps its pid when it executes a new program
    for device in range(1, 3):
        lines.append(f"DEVICE;{device};0;{device};0;0")
    for process in range(1, 4):
        for device in range(1, 3):
            for stream in (7, 8):
                works.append((process, len(works) + 1))
                lines.append(f"WORK;{len(works)};{process};{process};0;0;0;0;0;{device};{stream};kernel;3;0")
    records = []
    events = joined = 0
    now = {process: 2000 for process in range(1, 4)}
    for correlation in range(1, 3001):
        process, work = rng.choice(works)
        start = now[process] + rng.randrange(1, 50)
        end = start + rng.randrange(1, 60)
        now[process] = end
        kernels = rng.choice((1, 1, 1, 5))  # a graph has 5 kernels
        group = []
        for _ in range(kernels):
            begin = start + rng.randrange(20, 4000)
            queued = rng.choice((0, start + 10))
            group.append(f"EVENT;{work};{correlation};{begin};{begin + rng.randrange(0, 500)};{queued};0;0")
            events += 1
        has_call = rng.random() < 0.9
        if has_call:
            group.insert(rng.choice((0, 0, 0, 1 if kernels == 1 else 0)),
                         f"CALL;{process};{process};0;2;{correlation};{start};{end}")
            joined += kernels
        records.append(group)
    # The lines are slightly out of order, because the recorder reads the streams one after the other.
    for first in range(0, len(records), 8):
        block = records[first:first + 8]
        rng.shuffle(block)
        lines += [line for group in block for line in group]
    lines.append("END;9000000;0;0;0;0;0;0")
    return "\n".join(lines) + "\n", events, joined


def main():
    gpuprof = sys.argv[1]
    check(export(gpuprof, HERE / "train.txt"))
    with tempfile.TemporaryDirectory() as folder:
        check_size(gpuprof, folder)
        for seed in range(5):
            text, events, joined = random_profile(seed)
            path = pathlib.Path(folder) / "random.txt"
            path.write_text(text, encoding="ascii")
            by_track, arrows = check(export(gpuprof, path))
            shown = sum(1 for slices in by_track.values() for s in slices if s[2] == "gpu")
            assert shown == events, f"{shown} of {events} pieces of work are shown"
            assert len(arrows) == joined, f"{len(arrows)} arrows for {joined} pieces of work with a call"
    print("the traces are as they should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
