#!/usr/bin/env python3
"""Compares record --probe=blocks with what example_cuda_blocks measures of its own blocks, and measures the cost.

    test/bench/gpu_blocks.py --gpuprof PATH --examples FOLDER [--piece NAME ...] [--rounds N]

Pieces:
  known    durations, SMs, tail and slowest block of three kernels, on one stream and on eight
  output   the program's results with and without probes, bit by bit
  cost     the time of a launch: native, recorded, recorded with probes
  programs the other CUDA examples have the same kernels and counts with probes as without
Exit status 1 if a check fails, 77 without a GPU.
"""

import argparse
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

STEP_NS = 32  # of the GPU's clock
LAUNCHES = 30  # of vadd, whose blocks fit into the memory
PROBE_NS = 1000  # of a block, between the probe's clock and its own
failures = []


def check(condition, what):
    print(f"{'ok  ' if condition else 'FAIL'}  {what}", flush=True)
    if not condition:
        failures.append(what)


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=False)
    check(done.returncode == 0, f"{' '.join(command[-4:])} {done.stderr[-400:] if done.returncode else ''}")
    return done.stdout


def record(options, profile, program, *more):
    return run([options.gpuprof, "record", *more, "-o", profile, "--", *program])


def report(options, profile, *more):
    return json.loads(run([options.gpuprof, "report", "--json", *more, profile]))


def launches_of(path):
    """Yields the blocks of each launch, as the kernel itself has measured them: (start, end, SM, block)."""
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        count, = struct.unpack_from("<I", data, at)
        at += 4
        yield [struct.unpack_from("<QQII", data, at + 24 * i) for i in range(count)]
        at += 24 * count


def working(blocks):
    """Returns the times at which the number of working SMs changes, and by how much."""
    sms = {}
    for start, end, sm, _ in sorted(blocks):
        spans = sms.setdefault(sm, [])
        if spans and start <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([start, end])
    busy = [sum(end - start for start, end in spans) for spans in sms.values()]
    changes = sorted((time, change) for spans in sms.values() for span in spans for time, change in zip(span, (1, -1)))
    return changes, busy


def tail_of(blocks):
    changes, busy = working(blocks)
    now = most = 0
    levels = []
    for (time, change), following in zip(changes, changes[1:]):
        now += change
        most = max(most, now)
        levels.append((now, following[0] - time))
    tail = 0
    for level, length in reversed(levels):
        if 2 * level >= most:
            break
        tail += length
    span = max(end for _, end, _, _ in blocks) - min(start for start, _, _, _ in blocks)
    return tail, span, busy, most


def sums_of(options, profile):
    """Returns the numbers of all lines BLOCKS, added up."""
    sums = {}
    for line in run([options.gpuprof, "dump", profile]).splitlines():
        if line.startswith("blocks "):
            for name, value in re.findall(r"(\w+)=(\d+)", line):
                sums[name] = sums.get(name, 0) + int(value)
    return sums


def piece_known(options, scratch):
    for what, streams in (("spin", 1), ("tail", 1), ("early", 1), ("spin", 8), ("early", 8)):
        profile, dump = os.path.join(scratch, "known"), os.path.join(scratch, "dump")
        record(options, profile, [options.program, "--dump", dump, "--streams", str(streams), "--launches", "20", what],
               "--probe=blocks")
        lines = [line for line in report(options, profile).get("blocks", ()) if line["kernel"].startswith(what)]
        label = f"{what} on {streams} streams"
        check(len(lines) == 1, f"{label}: one line of the report")
        if not lines:
            continue
        line, launches = lines[0], list(launches_of(dump))
        blocks = [block for launch in launches for block in launch]
        durations = sorted(end - start for start, end, _, _ in blocks)
        check(line["launches"] == len(launches), f"{label}: launches {line['launches']} of {len(launches)}")
        check(line["blocks"] == line["recorded"] == len(blocks), f"{label}: blocks {line['recorded']} of {len(blocks)}")
        # Blocks of a first launch wait for their code, before they read their own clock. So the longest one is not compared.
        median = durations[len(durations) // 2]
        check(abs(line["median_ns"] - median) <= median / 32 + 2 * STEP_NS, f"{label}: median {line['median_ns']} ns, by itself {median} ns")
        mean = sums_of(options, profile)["sum_ns"] / len(blocks) - sum(durations) / len(blocks)
        check(0 <= mean <= PROBE_NS, f"{label}: a block is {mean:.0f} ns longer than by its own clock (mean)")
        tails = [tail_of(launch) for launch in launches]
        tail = 100 * sum(one[0] for one in tails) / sum(one[1] for one in tails)
        check(abs(line["tail_percent"] - tail) <= 1, f"{label}: tail {line['tail_percent']}%, by itself {tail:.2f}%")
        busy = sum(max(one[2]) for one in tails) / sum(sum(one[2]) / len(one[2]) for one in tails)
        check(abs(line["imbalance_percent"] / 100 + 1 - busy) <= 0.02 * busy,
              f"{label}: imbalance {line['imbalance_percent']}%, by itself {100 * (busy - 1):.2f}%")
        sms = sum(one[3] * one[1] for one in tails) / sum(one[1] for one in tails)
        check(abs(line["sms"] - sms) <= 0.02 * sms, f"{label}: SMs {line['sms']}, by itself {sms:.2f}")


def piece_output(options, scratch):
    profile = os.path.join(scratch, "output")
    for what in ("vadd", "mm", "leave"):
        program = [options.program, "--launches", "20", what]
        plain = re.findall("checksum .*", run(program))
        probed = re.findall("checksum .*", record(options, profile, program, "--probe=blocks"))
        check(plain and plain == probed, f"{what}: {probed} with probes, {plain} without")
        for line in report(options, profile).get("blocks", ()):
            check(line["recorded"] == line["blocks"], f"{line['kernel']}: {line['recorded']} of {line['blocks']} blocks recorded")


def piece_cost(options, scratch):
    profile = os.path.join(scratch, "cost")
    for what, limit in (("vadd", 1.15), ("mm", 1.02)):
        program = [options.program, "--launches", str(LAUNCHES), what]
        values = {}
        for number in range(options.rounds):
            for name, more in (("native", None), ("recorded", ()), ("probed", ("--probe=blocks",)))[::1 - 2 * (number % 2)]:
                said = run(program) if more is None else record(options, profile, program, *more)
                values.setdefault(name, []).append(int(re.search(r"p10 (\d+)", said).group(1)))
                if more:
                    line = report(options, profile)["blocks"][0]
                    check(line["launches"] == LAUNCHES, f"{what}: {line['launches']} of {LAUNCHES} launches were probed")
                    print("     " + json.dumps(line))
        least = {name: min(figures) for name, figures in values.items()}
        print("     " + ", ".join(f"{name} {sorted(figures)}" for name, figures in values.items()))
        check(least["probed"] <= limit * least["recorded"],
              f"{what}: {least['probed'] / least['recorded']:.3f} of recorded, {least['probed'] / least['native']:.3f} of native")


def work_of(options, profile):
    return {(row["name"], row["count"]) for row in report(options, profile, "--top", "1000")["work"]}


def piece_programs(options, scratch):
    profile = os.path.join(scratch, "programs")
    for name in ("example_cuda", "example_cuda_streams", "example_cuda_modules", "example_cuda_graphs", "example_cuda_variants",
                 "example_cuda_conditional", "example_cuda_device_launches", "example_cuda_blocks"):
        program = [os.path.join(options.examples, name), *(("--launches", "5", "leave") if name.endswith("blocks") else ())]
        found = []
        for more in ((), ("--probe=blocks",)):
            record(options, profile, program, *more)
            found.append(work_of(options, profile))
        check(found[0] == found[1], f"{name}: {len(found[1])} kernels and copies, other than without probes: {sorted(found[0] ^ found[1])[:6]}")
        lines = report(options, profile).get("blocks", ())
        check(all(line["recorded"] == line["blocks"] for line in lines), f"{name}: all blocks of {len(lines)} kernels recorded")
        for line in run([options.gpuprof, "report", profile]).splitlines():
            if line.startswith("note:"):
                print("     " + line)


PIECES = {"known": piece_known, "output": piece_output, "cost": piece_cost, "programs": piece_programs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpuprof", required=True)
    parser.add_argument("--examples", required=True)
    parser.add_argument("--piece", action="append", choices=PIECES)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    options.program = os.path.join(options.examples, "example_cuda_blocks")
    if subprocess.run([options.program, "--launches", "1", "spin"], capture_output=True, check=False).returncode != 0:
        print("skipped: example_cuda_blocks does not run here, so there is no NVIDIA GPU")
        return 77
    with tempfile.TemporaryDirectory(prefix="gpuprof-blocks.") as scratch:
        for piece in options.piece or PIECES:
            print(f"-- {piece}", flush=True)
            PIECES[piece](options, scratch)
    print(f"{len(failures)} checks failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
