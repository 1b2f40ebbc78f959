"""Generates profiles according to FORMAT.md, so that the verdicts of `check` do not depend on this machine."""

import itertools
import random

STARTS = itertools.count(1_700_000_000_000_000_000, 1_000_000_000)

# 12 kernels of a program: {(call path, kernel): (launches, ns)} of one run.
KERNELS = {(("main", f"layer{i % 4}", "launch"), f"kernel_{i}"): (100, 40_000_000 + 7_000_000 * i) for i in range(12)}


def write(path, work=None, *, noise=0.002, seed=0, version="3.0", device="NVIDIA H200", driver="NVIDIA 580.65.06",
          commit="", command="./app", host="node1", exit_status="0", lost=0, whole=True, counts_only=False, start=None,
          stalls=None, dropped=0, window_ns=0, meta=(), failed=None):
    """Returns one run. Each cost of `work` varies by the relative `noise`. `stalls` is {kernel: {reason: samples}}."""
    chance = random.Random(f"{seed}")
    start = next(STARTS) if start is None else start
    lines = [f"GPUPROF;{version}", f"META;command;{command}", f"META;host;{host}", "META;start_ns;1000",
             f"META;start_unix_ns;{start}", "META;interval_ns;1000000000", f"META;recording;{start:032x}"]
    lines += [f"META;gpu.driver;{driver}"] if driver else []
    lines += [f"META;{key};{value}" for key, value in meta]
    lines += [f"META;source.commit;{commit}"] if commit else []
    strings, frames, stacks = {}, {}, {}

    def string(text):
        if text not in strings:
            strings[text] = len(strings) + 1
            lines.append(f"STRING;{strings[text]};{text}")
        return strings[text]

    def stack(names):
        if not names:
            return 0
        for name in names:
            if name not in frames:
                number = string(name)
                frames[name] = len(frames) + 1
                lines.append(f"FRAME;{frames[name]};native;{number};0;0;0;0;0x{frames[name]:x}0")
        if names not in stacks:
            stacks[names] = len(stacks) + 1
            lines.append(";".join(["USTACK", str(stacks[names]), *(str(frames[name]) for name in names)]))
        return stacks[names]

    lines.append(f"PROCESS;1;42;1;1000;{string('app')};{string(command)};0;0")
    lines.append(f"DEVICE;1;{string('cupti')};0;{string(device)};0")
    lines += [f"SAMPLING;1;65536;{string('cycles')}"] if stalls else []
    records, total, samples = 0, 0, 0
    for number, ((names, kernel), (count, ns)) in enumerate((KERNELS if work is None else work).items(), 1):
        ustack, name = stack(names), string(kernel)
        if counts_only:
            lines += [f"WORK;{number};1;0;0;{ustack};0;0;0;0;0;launch;{name};0", f"LAUNCH;0;{number};{count}"]
            continue
        ns = max(count, round(ns * (1 + noise * chance.gauss(0, 1))))
        lines.append(f"WORK;{number};1;0;0;{ustack};0;0;0;1;7;kernel;{name};0")
        lines.append(f"GPU;0;{number};{count};{ns};{ns // count};{-(-ns // count)};{ns * ns // count};0;0")
        for reason, taken in (stalls or {}).get(kernel, {}).items():
            reason = string(reason)
            lines.append(f"EUSTALL;0;{number};0;{reason};1;{taken};0")
            samples += taken
        records, total = records + count, total + ns
    lines += [f"LOSS;1;ring_full;{lost}"] if lost else []
    lines += [f"LOSS;1;samples_dropped;{dropped}"] if dropped else []
    if failed is not None:
        lines += [f"COVERAGE;1;launches;{records + failed}", f"COVERAGE;1;matched;{records}", f"COVERAGE;1;failed;{failed}"]
    lines += [f"WINDOW;1000;{1000 + window_ns}"] if window_ns else []
    lines += [f"META;target.exit_status;{exit_status}"] if exit_status else []
    lines += [f"END;2000000000;{records};{records};{total};{records};{samples};{lost + dropped}"] if whole else []
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return path


def slower(kernel, factor):
    """Returns KERNELS with one kernel slower by `factor`."""
    return {(names, name): (count, round(ns * factor) if name == kernel else ns)
            for (names, name), (count, ns) in KERNELS.items()}
