#!/usr/bin/env python3
"""Checks `record --cpu` in PyTorch programs that know why the GPU was idle, and measures its cost.

    test/bench/gpu_idle.py --gpuprof PATH [--cpu=--cpu=bpf] [--device cuda] [--piece NAME ...] [--rounds N]

Pieces:
  phases  idle time of long (0.1 to 0.3 s) and of short gaps (0.3 to 2 ms), of a computing function, a sleeping one and one
          that waits for a lock: within 3 points of the program's own clock
  loader  a DataLoader that is too slow, without and with worker processes: the largest leaf
  ddp     a job of two ranks (two GPUs, NCCL): `gpuprof ranks` names the rank whose fetch_batch computes or sleeps, and why
  cost    10th percentile of the step time with and without --cpu, alternating
Exit status 1 if a check fails, 77 if there is no PyTorch that sees a GPU.
"""

import argparse
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "examples", "python"))

NOT_HERE = 77
POINTS = 0.03
PIECES = ("phases", "loader", "ddp", "cost")
failures = []
spent = collections.Counter()


def check(condition, what):
    print(f"{'ok  ' if condition else 'FAIL'}  {what}", flush=True)
    if not condition:
        failures.append(what)


# The programs.

def timed(function, seconds, clock=time.monotonic_ns):
    begin = clock()
    function(seconds)
    spent[function.__name__] += clock() - begin


def compute_in_a(seconds):
    end = time.monotonic() + seconds
    value = 1.0
    while time.monotonic() < end:
        for _ in range(50):
            value = value * 0.999 + 1


def sleep_in_b(seconds):
    time.sleep(seconds)


lock = threading.Lock()
wanted, held = threading.Semaphore(0), threading.Semaphore(0)
hold_seconds = [0.0]


def hold_lock():
    while True:
        wanted.acquire()
        with lock:
            held.release()
            time.sleep(hold_seconds[0])


def wait_for_lock(seconds):
    hold_seconds[0] = seconds
    wanted.release()
    held.acquire()
    with lock:
        pass


def program_phases(options):
    import torch  # pylint: disable=import-outside-toplevel  # only the program's process needs it
    threading.Thread(target=hold_lock, daemon=True).start()
    scale, rounds = (1, 8) if options.gaps == "long" else (0.005, 1500)
    data = torch.zeros(1024, device=options.device)

    def launch():
        data.add_(1)
        if options.device == "cuda":
            torch.cuda.synchronize()

    def whole(seconds):
        timed(compute_in_a, 0.3 * seconds, time.thread_time_ns)
        launch()
        timed(sleep_in_b, 0.2 * seconds)
        launch()
        timed(wait_for_lock, 0.1 * seconds)
        launch()

    launch()
    for _ in range(rounds):
        timed(whole, scale)
    for name, nanoseconds in spent.items():
        print(f"expect {name}={nanoseconds}")


class Images:
    """A data set whose images take 20 ms to decode."""

    def __len__(self):
        return 240

    def __getitem__(self, index):
        import torch  # pylint: disable=import-outside-toplevel
        decode_image(0.02)
        return torch.full((64, 64), float(index))


def decode_image(seconds):
    compute_in_a(seconds)


def program_loader(options):
    import torch  # pylint: disable=import-outside-toplevel
    weights = torch.rand(64, 64, device=options.device)
    for batch in torch.utils.data.DataLoader(Images(), batch_size=4, num_workers=options.workers):
        (batch.to(options.device) @ weights).sum().item()


def fetch_batch(late):
    if late == "computes":
        compute_in_a(0.02)
    elif late == "sleeps":
        time.sleep(0.02)


def program_ddp(options):
    """Starts one process for each rank. Rank 1 is late in each step after the 60th."""
    with tempfile.TemporaryDirectory(prefix="gpuprof-ddp.") as scratch:
        ranks = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "--program", "rank", "--late", options.late],
                                  env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2",
                                       "STORE": os.path.join(scratch, "store")}) for rank in range(2)]
        sys.exit(max(abs(rank.wait()) for rank in ranks))


def program_rank(options):
    import torch  # pylint: disable=import-outside-toplevel
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", init_method="file://" + os.environ["STORE"], rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda(), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    batch = torch.rand(4096, 2048, device=rank)
    for step in range(260):
        if rank == 1 and step >= 60:
            fetch_batch(options.late)
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
        torch.cuda.synchronize()
    torch.distributed.destroy_process_group()


def program_cost(options):
    import torch  # pylint: disable=import-outside-toplevel
    import torch_step  # pylint: disable=import-outside-toplevel
    work = torch_step.Training(14, options.device)
    times = []
    for _ in range(options.steps):
        begin = time.perf_counter_ns()
        work.step()
        torch.cuda.synchronize()
        times.append(time.perf_counter_ns() - begin)
    times = sorted(times[10:])
    print(f"p10 {times[len(times) // 10]} median {times[len(times) // 2]}")


# The checks.

def record(options, profile, program, *more, record_options=None):
    done = subprocess.run(
        [options.gpuprof, "record", *(record_options or (options.cpu,)), "-o", profile, "--", sys.executable, os.path.abspath(__file__),
         "--device", options.device, "--program", program, *more],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=False)
    check(done.returncode == 0, f"{program}: recorded {done.stderr[-300:] if done.returncode else ''}")
    return done.stdout


def idle_stacks(options, profile):
    done = subprocess.run([options.gpuprof, "flame", "--weight", "idle", "--unit", "ns", "-i", profile],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=True)
    for line in done.stdout.splitlines():
        stack, _, ns = line.rpartition(" ")
        yield stack.split(";"), int(ns)


def piece_phases(options, scratch):
    for gaps in ("long", "short"):
        profile = os.path.join(scratch, "phases")
        said = record(options, profile, "phases", "--gaps", gaps)
        want = {name: int(ns) for name, ns in re.findall(r"^expect (\w+)=(\d+)$", said, re.MULTILINE)}
        if not want:
            continue
        got = collections.Counter()
        for frames, ns in idle_stacks(options, profile):
            text = ";".join(frames)
            phase = next((name for name in ("compute_in_a", "sleep_in_b", "wait_for_lock") if name in text), None)
            got[phase or frames[-1]] += ns
        whole = want["whole"]
        for name, leaf in (("compute_in_a", None), ("sleep_in_b", "[sleeps]"), ("wait_for_lock", "[waits: futex]")):
            share = (got[name] + got[leaf]) / whole
            check(abs(share - want[name] / whole) <= POINTS,
                  f"{gaps} gaps, {name}: {100 * share:.1f}% of the steps, by its own clock {100 * want[name] / whole:.1f}%")
        print("     " + ", ".join(f"{name} {100 * ns / whole:.1f}%" for name, ns in got.most_common(8)))


def piece_loader(options, scratch):
    for workers in (0, 2):
        profile = os.path.join(scratch, "loader")
        record(options, profile, "loader", "--workers", str(workers))
        stacks = sorted(idle_stacks(options, profile), key=lambda row: -row[1])
        total = sum(ns for _, ns in stacks)
        for frames, ns in stacks[:4]:
            print(f"     {100 * ns / total:5.1f}%  {';'.join(frames)[-220:]}")
        if workers == 0:
            functions = collections.Counter()
            for frames, ns in stacks:
                functions[next((name for name in ("decode_image",) if name in ";".join(frames)), frames[-1])] += ns
            largest, ns = functions.most_common(1)[0]
            check(largest == "decode_image", f"slow DataLoader: the largest leaf is {largest}, {100 * ns / total:.1f}%")


def piece_ddp(options, scratch):
    import torch  # pylint: disable=import-outside-toplevel
    if torch.cuda.device_count() < 2:
        print("     skipped: it needs two GPUs")
        return
    for late, cause in (("computes", r"(fetch_batch|compute_in_a) \(\S*gpu_idle.py:\d+\)"), ("sleeps", "sleeps"), ("never", None)):
        right = 0
        for _ in range(options.rounds):
            profile = os.path.join(scratch, "ddp")
            record(options, profile, "ddp", "--late", late, record_options=(options.cpu, "--interval", "200ms"))
            done = subprocess.run([options.gpuprof, "ranks", "--json", profile], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=200, check=False)
            if not done.stdout:
                print("     " + done.stderr)
                continue
            answer = json.loads(done.stdout)
            named = [one["rank"] for one in answer["laggards"]]
            found = named == ["1"] and re.search(cause, answer["text"]) if cause else answer["verdict"] == "even"
            right += bool(found)
            if not found or right == 1:
                print(f"     {late}: {answer['text']}", flush=True)
        check(right == options.rounds, f"rank 1 {late}: right in {right} of {options.rounds}")


def piece_cost(options, scratch):
    values = collections.defaultdict(list)
    for number in range(options.rounds):
        for name, more in [("record", ("--stacks=inproc",)), (f"record {options.cpu}", (options.cpu,))][::1 if number % 2 == 0 else -1]:
            said = record(options, os.path.join(scratch, "cost"), "cost", record_options=more)
            match = re.search(r"p10 (\d+) median (\d+)", said)
            if match:
                values[name].append(int(match.group(1)))
    for name, figures in values.items():
        print(f"     {name}: 10th percentile {min(figures) / 1e6:.3f} ms (least), {statistics.median(figures) / 1e6:.3f} "
              f"(median), {max(figures) / 1e6:.3f} (most) of {len(figures)} runs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpuprof")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--cpu", default="--cpu", metavar="OPTION", help="the option of record, such as --cpu=bpf")
    parser.add_argument("--piece", action="append", choices=PIECES)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--program", choices=(*PIECES, "rank"), help=argparse.SUPPRESS)  # this process is the program
    parser.add_argument("--gaps", default="long", help=argparse.SUPPRESS)
    parser.add_argument("--late", default="never", help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--steps", type=int, default=300, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.program:
        globals()[f"program_{options.program}"](options)
        return 0
    if not options.gpuprof:
        parser.error("--gpuprof PATH is missing")
    seen = subprocess.run([sys.executable, "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"],
                          capture_output=True, check=False)
    if seen.returncode != 0:
        print("skipped: this Python has no PyTorch that sees a GPU")
        return NOT_HERE
    with tempfile.TemporaryDirectory(prefix="gpuprof-idle.") as scratch:
        for piece in options.piece or PIECES:
            print(f"-- {piece}", flush=True)
            globals()[f"piece_{piece}"](options, scratch)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
