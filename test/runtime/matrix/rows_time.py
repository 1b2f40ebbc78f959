"""Rows 3, 6, 7 and 9: dimensions and weights, the timeline, launch latency, idle time."""

import collections
import json

from measure import require, require_between, require_equal, union_ns
from registry import row


@row(3, "streams-weights")
def streams_weights(matrix):
    """S streams run K kernels concurrently: counts are right, and busy + idle = wall time x devices to the nanosecond."""
    recording = matrix.record(matrix.platform.streams(), "--timeline")
    recording.check_conserved()
    recording.check_expectations(matrix.stacks)
    shares = recording.check_shares()
    late = sum(int(value) for value in recording.profile.meta().get("sweep.late_ns", []))
    by_device = collections.defaultdict(list)
    for event in recording.gpu_events():
        by_device[event[0].device].append((event[2], event[3]))
    for device, intervals in by_device.items():
        # Busy time may lack work that was reported too late to be included. `late` is the missing time.
        require_between(union_ns(intervals, recording.windows()) - late, shares[device][0],
                        union_ns(intervals, recording.windows()),
                        f"busy ns of device {device} against the union of its events")
    summed = recording.profile.end()["gpu_ns"]
    busy = sum(share[0] for share in shares.values())
    require(busy < summed, f"kernels ran at the same time: busy {busy} ns is less than their sum {summed} ns")
    return f"sum {summed} ns, busy {busy} ns, idle {sum(share[2] for share in shares.values())} ns"


@row(3, "two-devices")
def two_devices(matrix):
    matrix.need_devices(2)
    recording = matrix.record(matrix.platform.streams(devices=2))
    recording.check_conserved()
    recording.check_expectations(matrix.stacks)
    require_equal(len(recording.check_shares()), 2, "devices with work")
    uuids = {device[4] for device in recording.profile.of("DEVICE")}
    require_equal(len(uuids), len(recording.profile.of("DEVICE")), "devices with a uuid of their own")


@row(3, "dimensions")
def dimensions(matrix):
    """flame --by: the chosen dimensions are the outermost frames, and the sums stay the same."""
    recording = matrix.record(matrix.platform.streams(streams=4, kernels=5), env={
        "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"})
    whole = recording.folded_total("--unit", "ns")
    works = [work for work, _ in recording.profile.measured("GPU")]
    distinct = {
        "pid": {work.process for work in works}, "tid": {(work.process, work.tid) for work in works},
        "device": {work.device for work in works},
        "stream": {work.stream for work in works}, "thread": {work.thread for work in works},
        "rank": {"3"},
    }
    for dimension, values in distinct.items():
        stacks = recording.flame("--unit", "ns", "--by", dimension)
        require_equal(sum(value for _, value in stacks), whole, f"flame --by {dimension}")
        roots = {frames[0] for frames, _ in stacks}
        require_equal(len(roots), len(values), f"flame --by {dimension}: roots {sorted(roots)}")
    ranks = {frames[0] for frames, _ in recording.flame("--by", "rank")}
    require(all("3" in rank for rank in ranks), f"the rank is 3: {ranks}")
    both = {tuple(frames[:2]) for frames, _ in recording.flame("--by", "device,stream")}
    require_equal(len(both), len({(work.device, work.stream) for work in works}), "flame --by device,stream")


@row(3, "rank-variables")
def rank_variables(matrix):
    """The profile has the rank from the environment variable of each launcher."""
    for variable in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"):
        extra = {"WORLD_SIZE": "8"} if variable == "RANK" else {}
        extra = {"SLURM_NTASKS": "8"} if variable == "SLURM_PROCID" else extra
        recording = matrix.record(matrix.platform.loop(30), env={variable: "5", **extra})
        strings = recording.profile.strings()
        ranks = {strings.get(process[6], "") for process in recording.profile.of("PROCESS")}
        require_equal(ranks, {"5"}, f"rank from {variable}")


@row(6, "timeline-events")
def timeline_events(matrix):
    """Each work item has one EVENT, and each launch with work one CALL. The EVENTs sum up to END."""
    recording = matrix.record(matrix.platform.streams(), "--timeline")
    recording.check_conserved()
    end, events = recording.profile.end(), recording.gpu_events()
    require_equal(len(events), end["gpu_records"], "EVENT lines of GPU work")
    require_equal(sum(event[3] - event[2] for event in events), end["gpu_ns"], "ns of EVENT lines")
    calls = {(call[0], call[4]): (int(call[5]), int(call[6])) for call in recording.profile.of("CALL")}
    require_equal(len(calls), len(recording.profile.of("CALL")), "CALL lines with a key of their own")
    missing = [event for event in events if (event[0].process, str(event[1])) not in calls]
    require_equal(len(missing), 0, "EVENTs without their CALL")
    early = [event for event in events if event[2] < calls[event[0].process, str(event[1])][0]]
    require_equal(len(early), 0, "EVENTs that began before their CALL")
    return f"{len(events)} events, {len(calls)} calls"


@row(6, "timeline-chrome")
def timeline_chrome(matrix):
    """export --format chrome writes trace event JSON, with a flow arrow from each launch to its work."""
    recording = matrix.record(matrix.platform.streams(kernels=10), "--timeline")
    trace = recording.chrome()
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    phases = collections.Counter(event["ph"] for event in events)
    for event in events:
        check_chrome_event(event)
    gpu = {(event[2], event[3]) for event in recording.gpu_events()}
    require(phases["X"] >= len(recording.gpu_events()) + len(recording.profile.of("CALL")),
            f"complete events: {phases['X']}, work {len(gpu)}")
    begins = {event["id"] for event in events if event["ph"] == "s"}
    ends = {event["id"] for event in events if event["ph"] == "f"}
    require(begins and ends, f"flow arrows: {phases}")
    require_equal(ends - begins, set(), "flow ends without a beginning")
    require(len(ends) >= len({event[1] for event in recording.gpu_events()}), f"flow arrows of launches: {len(ends)}")
    require(phases["C"] > 0, "counters of queue depth")
    require(phases["M"] > 0, "names of processes and threads")
    check_nesting(events)
    names = json.dumps(sorted({event.get("name", "") for event in events if event["ph"] in "XbB"}))
    require("inner" in names and "assemble" in names, "NVTX ranges")
    return ", ".join(f"{phase} {count}" for phase, count in sorted(phases.items()))


def check_chrome_event(event):
    require(isinstance(event.get("ph"), str) and "pid" in event, f"an event without ph and pid: {event}")
    if event["ph"] == "M":
        require("args" in event, f"metadata without args: {event}")
        return
    require(float(event["ts"]) >= 0, f"a time before the beginning: {event}")
    if event["ph"] == "X":
        require(float(event["dur"]) >= 0 and event.get("name") and "tid" in event, f"a complete event: {event}")
    if event["ph"] in "sf":
        require("id" in event and "tid" in event, f"a flow event: {event}")
    if event["ph"] == "C":
        require(all(float(value) >= 0 for value in event["args"].values()), f"a negative counter: {event}")


def check_nesting(events):
    """Checks that complete events of one track nest: viewers drop or move events that overlap partly."""
    tracks = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            begin = round(float(event["ts"]) * 1000)
            end = begin + round(float(event["dur"]) * 1000)
            tracks[event["pid"], event["tid"]].append((begin, -end, event["name"]))
    for track, spans in tracks.items():
        open_until = []
        for begin, negative_end, name in sorted(spans):
            while open_until and open_until[-1] <= begin:
                open_until.pop()
            require(not open_until or -negative_end <= open_until[-1],
                    f"track {track}: {name} at {begin} ns overlaps the end of another")
            open_until.append(-negative_end)


PHASES = ("call_to_queued", "queued_to_submitted", "submitted_to_start", "call_to_start")


def bucket_low(bucket):
    """Returns the lower bound of a bucket, as FORMAT.md defines it."""
    return bucket if bucket < 8 else (8 + bucket % 8) << (bucket // 8 - 1)


def latencies(profile):
    """Returns {phase: [count, sum, min, max, {bucket: count}]} over all work."""
    result = {}
    for _, phase, count, total, low, high, *pairs in profile.of("LATENCY"):
        entry = result.setdefault(phase, [0, 0, 1 << 64, 0, collections.Counter()])
        entry[0] += int(count)
        entry[1] += int(total)
        entry[2] = min(entry[2], int(low))
        entry[3] = max(entry[3], int(high))
        for bucket, times in zip(pairs[::2], pairs[1::2]):
            entry[4][int(bucket)] += int(times)
    return result


@row(7, "latency")
def latency(matrix):
    """Histograms hold each launch once, min and max are in their first and last bucket, and percentiles do not decrease."""
    recording = matrix.record(matrix.platform.sites(), "--latency")
    recording.check_conserved()
    found = latencies(recording.profile)
    require("call_to_start" in found, f"phases: {sorted(found)}")
    for phase, (count, total, low, high, buckets) in found.items():
        require(phase in PHASES, f"phase {phase}")
        require_equal(sum(buckets.values()), count, f"{phase}: values in buckets")
        require(low * count <= total <= high * count, f"{phase}: min {low}, max {high}, sum {total} of {count}")
        require(bucket_low(min(buckets)) <= low < bucket_low(min(buckets) + 1), f"{phase}: min {low} in its bucket")
        require(bucket_low(max(buckets)) <= high < bucket_low(max(buckets) + 1), f"{phase}: max {high} in its bucket")
    records = recording.profile.end()["gpu_records"]
    require(found["call_to_start"][0] >= 0.99 * records, f"{found['call_to_start'][0]} latencies of {records} records")
    check_latency_output(recording)
    return ", ".join(f"{phase} {entry[0]}: mean {entry[1] // max(entry[0], 1)} ns" for phase, entry in found.items())


def check_latency_output(recording):
    """Checks that percentiles in the command's JSON do not decrease, with every grouping."""
    report = json.loads(recording.gpuprof("latency", "--json", "-i", recording.path))
    checked = 0

    def walk(value):
        nonlocal checked
        if isinstance(value, dict):
            keys = [next((key for key in value if key.startswith(p) and not isinstance(value[key], (dict, list))), None)
                    for p in ("p50", "p90", "p99", "max")]
            if all(keys):
                rising = [value[key] for key in keys]
                require_equal(rising, sorted(rising), f"percentiles {keys}")
                checked += 1
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(report)
    require(checked > 0, "latency --json has no percentiles")
    require(recording.gpuprof("latency", "-i", recording.path).strip(), "latency prints nothing")


@row(7, "latency-graph-nodes")
def latency_of_graph_nodes(matrix):
    """Queued and submitted times of graph nodes are stale, so no histogram may hold them."""
    recording = matrix.record(matrix.platform.graphs(), "--latency")
    recording.check_conserved()
    works = recording.profile.works
    stale = [row for row in recording.profile.of("LATENCY")
             if works[row[0]].flags & 1 and row[1] in ("call_to_queued", "queued_to_submitted", "submitted_to_start")]
    require_equal(len(stale), 0, "histograms of stale times")


@row(9, "idle-time")
def idle_time(matrix):
    """Each nanosecond in which a device is idle is charged to one call: mostly a wait, or the launch that ended the idle time."""
    matrix.need_stacks()
    recording = matrix.record(matrix.platform.sites())
    shares = recording.check_shares()
    idle = sum(share[2] for share in shares.values())
    charged = sum(int(ns) for _, _, work, ns in recording.profile.of("IDLE") if work != "0")
    require(charged > 0, "idle time is charged to nobody")
    frames = {frame for stack, _ in recording.flame("--weight", "idle", "--unit", "ns") for frame in stack}
    require(any("assemble" in frame or "solve" in frame for frame in frames), f"idle stacks: {sorted(frames)[:20]}")
    return f"idle {idle} ns, {100 * charged / max(idle, 1):.1f}% charged to a stack"
