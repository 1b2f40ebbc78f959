#!/usr/bin/env python3
"""Watches a long recording at a high launch rate: samples memory, CPU and the profile's growth each second.

    soak.py [--minutes M] [--rate N] [--gpuprof PATH] [--app PATH] [--mocks FOLDER] [--json FILE] [-- RECORD OPTIONS]

The target is mock_cuda_app, which makes N launches a second through the mock driver. Memory must be flat after the first
quarter (--slope, MB an hour, and --growth, MB). The recorder must use less than --cpu percent of one core. The profile
must account for every launch, as recorded or lost. Exit status 1 if one of these fails.

With the option --last, the recorder gets SIGUSR2 three times, 10 s apart, 40 s before the end. Each file must be complete
after --snapshot seconds. The work per second of the profile must be that of the program.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "runtime"))
import rig  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")
MB = 1 << 20


def process_facts(pid):
    """Returns {rss, cpu seconds, threads}, or None if the process has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return {"rss": int(fields[21]) * os.sysconf("SC_PAGE_SIZE"), "cpu": (int(fields[11]) + int(fields[12])) / TICKS,
            "threads": int(fields[17])}


def anonymous_bytes(pid):
    """Returns the private memory of a process, without file pages and without the targets' rings."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
        return 1024 * int(lines["RssAnon"].split()[0])
    except (OSError, KeyError):
        return 0


def proportional_bytes(pid):
    """Returns a process's share of the memory that it has in common with others, plus its own."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii", errors="replace") as file:
            return 1024 * sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except OSError:
        return 0


def child_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = file.read().split()
    except OSError:
        return None
    return int(children[0]) if children else None


def size_of(path):
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def slope_per_hour(samples, key):
    times, values = [sample["s"] for sample in samples], [sample[key] for sample in samples]
    if len(samples) < 3:
        return 0.0
    mean_time, mean = statistics.mean(times), statistics.mean(values)
    above = sum((time - mean_time) * (value - mean) for time, value in zip(times, values))
    below = sum((time - mean_time) ** 2 for time in times)
    return 3600 * above / below


def is_complete(path):
    try:
        with open(path, "rb") as file:
            file.seek(-min(os.path.getsize(path), 4096), os.SEEK_END)
            return file.read().splitlines()[-1].startswith(b"END;")
    except (OSError, IndexError):
        return False


def snapshot(recorder, path):
    """Returns the seconds from SIGUSR2 until the file `path` is complete."""
    begin = time.monotonic()
    recorder.send_signal(signal.SIGUSR2)
    while recorder.poll() is None and not is_complete(path) and time.monotonic() < begin + 30:
        time.sleep(0.01)
    return time.monotonic() - begin if is_complete(path) else float("inf")


def watch(recorder, profile, period, snapshots):
    """Sends SIGUSR2 at the keys of `snapshots`. Returns the samples, and how many seconds each file took."""
    samples, begin, target, taken = [], time.monotonic(), None, {}
    while recorder.poll() is None:
        for due in [due for due in snapshots if due <= time.monotonic() - begin]:
            path = snapshots.pop(due)
            taken[path] = snapshot(recorder, path)
        target = target if target and os.path.exists(f"/proc/{target}") else child_of(recorder.pid)
        mine, its = process_facts(recorder.pid), process_facts(target) if target else None
        if mine and its:
            samples.append({"s": time.monotonic() - begin, "rss": mine["rss"], "pss": proportional_bytes(recorder.pid),
                            "target_pss": proportional_bytes(target),
                            "own": anonymous_bytes(recorder.pid), "cpu": mine["cpu"],
                            "target_rss": its["rss"], "target_cpu": its["cpu"], "profile": size_of(profile)})
            if len(samples) % 60 == 0:
                print(describe(samples), flush=True)
        time.sleep(period)
    return samples, taken


def describe(samples):
    last, before = samples[-1], samples[max(len(samples) - 61, 0)]
    seconds = max(last["s"] - before["s"], 1e-3)
    return (f"{last['s']:6.0f} s  recorder {last['rss'] / MB:.1f} MB (PSS {last['pss'] / MB:.1f}, {last['own'] / MB:.1f} "
            f"of its own), {100 * (last['cpu'] - before['cpu']) / seconds:.1f}% CPU; "
            f"target {last['target_rss'] / MB:.1f} MB (PSS {last['target_pss'] / MB:.1f}), "
            f"{100 * (last['target_cpu'] - before['target_cpu']) / seconds:.1f}% CPU; "
            f"profile {last['profile'] / MB:.2f} MB")


def accounts(profile, did):
    """Compares the program's launches and GPU work with what the profile holds or counts as lost."""
    end, coverage = profile.end(), profile.coverage()
    lost = dict(profile.losses())
    return {"launches_made": did["launches"], "launches_accounted": end["launches"], "work_made": did["total_ops"],
            "work_recorded": end["gpu_records"], "ns_made": did["total_ns"], "ns_recorded": end["gpu_ns"],
            "with_stack": end["with_stack"], "lost": lost, "coverage": coverage,
            "uncounted": did["total_ops"] - end["gpu_records"] - profile.lost_work()}


def facts_of(path):
    profile = rig.Profile(path)
    end = profile.end()
    ns = sum(int(until) - int(begin) for begin, until in profile.of("WINDOW"))
    return {"window_s": ns / 1e9, "work_per_second": end["gpu_records"] / (ns / 1e9), "with_stack": end["with_stack"],
            "lost": dict(profile.losses())}


def judge(result, options):
    books = result["accounts"]
    if result["snapshots"]:
        # Each launch is a GPU record of 1 us.
        accounted = [(all(abs(one["work_per_second"] / result["rate"] - 1) < 0.05 for one in result["snapshots"]),
                      f"work per second {[round(one['work_per_second']) for one in result['snapshots']]}"),
                     (all(one["s"] < options.snapshot for one in result["snapshots"]),
                      f"seconds from SIGUSR2 to the file {[round(one['s'], 2) for one in result['snapshots']]}")]
    else:
        accounted = [(books["launches_made"] == books["launches_accounted"],
                      f"launches made {books['launches_made']}, accounted for {books['launches_accounted']}"),
                     (books["uncounted"] == 0,
                      f"GPU work neither recorded nor counted as lost: {books['uncounted']}; lost {books['lost']}")]
    return [
        (result["cpu_percent"] < options.cpu, f"recorder's CPU {result['cpu_percent']:.1f}% of one core"),
        (abs(result["growth_mb"]) < options.growth,
         f"recorder's memory {result['own_mb']:.1f} MB of its own, {result['growth_mb']:+.2f} MB since the first "
         f"quarter"),
        (result["slope_mb_per_hour"] < options.slope or result["growth_mb"] < 0.5,
         f"slope of recorder's memory {result['slope_mb_per_hour']:+.2f} MB an hour"),
        *accounted,
        (result["rate"] > 0.95 * options.rate, f"rate {result['rate']:.0f} launches a second, wanted {options.rate}"),
    ]


def soak(options):
    with tempfile.TemporaryDirectory(prefix="gpuprof-soak.") as scratch:
        path = os.path.join(scratch, "profile.txt")
        seconds = 60 * options.minutes
        target = [options.app, "--launches", "0", "--rate", str(options.rate), "--seconds", str(round(seconds)),
                  *options.app_option]
        recorder = subprocess.Popen(
            [options.gpuprof, "record", "-o", path, *options.record, "--", *target],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "LD_LIBRARY_PATH": options.mocks})
        snapshots = {}
        if "--last" in options.record:
            snapshots = {max(seconds - 40 + 10 * i, 0): os.path.join(scratch, f"profile.{i + 1}.txt") for i in range(3)}
        samples, taken = watch(recorder, path, options.period, snapshots)
        stdout, stderr = recorder.communicate()
        print(stderr.strip(), flush=True)
        if recorder.returncode != 0 or len(samples) < 8:
            sys.exit(f"soak.py: record ended with {recorder.returncode} after {len(samples)} samples")
        did = json.loads(stdout.strip().splitlines()[-1])
        profile = rig.Profile(path)
        snapshots = [{"s": seconds, **facts_of(file)} for file, seconds in [*taken.items(), (path, 0)] if taken]
        settled = samples[len(samples) // 4:]
        wall = samples[-1]["s"] - samples[0]["s"]
        return {
            "minutes": options.minutes, "samples": len(samples), "rate": did["launches"] / wall,
            "cpu_percent": 100 * (samples[-1]["cpu"] - samples[0]["cpu"]) / wall,
            "target_cpu_percent": 100 * (samples[-1]["target_cpu"] - samples[0]["target_cpu"]) / wall,
            "rss_mb": samples[-1]["rss"] / MB, "own_mb": samples[-1]["own"] / MB,
            "pss_mb": [settled[0]["pss"] / MB, samples[-1]["pss"] / MB], "most_rss_mb": max(one["rss"] for one in samples) / MB,
            "growth_mb": (samples[-1]["own"] - settled[0]["own"]) / MB,
            "slope_mb_per_hour": slope_per_hour(settled, "own") / MB,
            "target_rss_mb": [settled[0]["target_rss"] / MB, samples[-1]["target_rss"] / MB],
            "target_pss_mb": [settled[0]["target_pss"] / MB, samples[-1]["target_pss"] / MB],
            "snapshots": snapshots,
            "profile_mb": size_of(path) / MB,
            "profile_kb_per_minute": slope_per_hour(settled, "profile") / 1024 / 60,
            "accounts": accounts(profile, did),
            "curve": samples[::max(1, len(samples) // 120)],
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=int, default=100000, help="launches a second")
    parser.add_argument("--gpuprof", default=os.environ.get("GPUPROF", "build/gpuprof"))
    parser.add_argument("--app", default=os.environ.get("MOCK_CUDA_APP", "build/test/mocks/mock_cuda_app"))
    parser.add_argument("--mocks", default=os.environ.get("MOCK_CUDA_DIR", "build/test/mocks"))
    parser.add_argument("--app-option", action="append", default=[])
    parser.add_argument("--period", type=float, default=1.0, help="seconds between two samples")
    parser.add_argument("--cpu", type=float, default=25)
    parser.add_argument("--growth", type=float, default=8, help="MB that the recorder may grow after the first quarter")
    parser.add_argument("--slope", type=float, default=8, help="MB an hour")
    parser.add_argument("--snapshot", type=float, default=2, help="seconds from SIGUSR2 to a complete file")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("record", nargs="*", help="options of gpuprof record")
    options = parser.parse_args()
    options.gpuprof, options.app, options.mocks = map(os.path.abspath, (options.gpuprof, options.app, options.mocks))
    result = soak(options)
    result["checks"] = judge(result, options)
    print(json.dumps({key: value for key, value in result.items() if key not in ("curve", "checks")}, indent=1))
    for holds, text in result["checks"]:
        print(f"{'ok  ' if holds else 'FAIL'}  {text}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    return 0 if all(holds for holds, _ in result["checks"]) else 1


if __name__ == "__main__":
    sys.exit(main())
