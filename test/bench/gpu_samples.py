"""The part `samples` of gpu_check.py: compares samples in GPU kernels with known answers, and measures their cost."""

import json
import os
import re
import subprocess
import tempfile
import time

import overhead

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..", "examples", "cuda", "stalls.cu")
TORCH_STEP = os.path.join(HERE, "..", "..", "examples", "python", "torch_step.py")
PYTHON_EXAMPLES = os.path.join(HERE, "..", "..", "examples", "python")
TRITON_KERNEL = os.path.join(HERE, "..", "..", "examples", "python", "triton_kernel.py")

# For each kernel of examples/cuda/stalls.cu, one of the listed stall reasons must be the most frequent one.
EXPECTED = {"chase": ("long_scoreboard",), "meet": ("barrier",), "grind": ("math_pipe_throttle",),
            "collide": ("short_scoreboard", "mio_throttle")}
P10 = r"10th percentile ([0-9.]+)"


def run(command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400, check=False,
                          **options)


def folded(gpuprof, profile, *options):
    text = run([gpuprof, "flame", "-i", profile, *options]).stdout
    return [(line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2])) for line in text.splitlines()]


def kernel_of(frames):
    """Returns the kernel: the first frame that is marked as GPU code."""
    return next((frame for frame in frames if frame.endswith("_[G]")), "").split("(")[0].split("_[G]")[0]


def sums(rows, key):
    result = {}
    for frames, number in rows:
        result[key(frames)] = result.get(key(frames), 0) + number
    return result


def record(gpuprof, check, scratch, command, *options, mode="--pc-sampling"):
    """Makes a recording. Returns the profile's path and the report, or (None, None) if the recording failed."""
    profile = os.path.join(scratch, "profile.txt")
    done = run([gpuprof, "record", "-o", profile, mode, *options, "--", *command])
    last = [line for line in done.stderr.splitlines() if line.strip()]
    print("\n".join(last[-6:]), flush=True)
    if not check(done.returncode == 0, f"{os.path.basename(command[-1])} recorded with samples"):
        return None, None
    report = json.loads(run([gpuprof, "report", "--json", "--top", "100000", "-i", profile]).stdout)
    dropped = report["losses"].get("samples_dropped", 0)
    check(report["samples"] > 0, f"{report['samples']} samples in {report['gpu_ns'] / 1e6:.1f} ms of GPU time, {dropped} "
                                 "dropped")
    return profile, report


def check_conservation(gpuprof, check, profile):
    """Checks that the frames below a kernel sum up exactly to the kernel's time in ns."""
    whole = sums(folded(gpuprof, profile, "--unit", "ns", "--leaf", "kernel"), kernel_of)
    for leaf in ("function", "line", "instruction", "stall"):
        check(sums(folded(gpuprof, profile, "--unit", "ns", "--leaf", leaf), kernel_of) == whole,
              f"--leaf {leaf}: the leaves of each kernel sum to its nanoseconds")


def check_reasons(check, report):
    for row in report["stalls"]:
        name = row["kernel"].split("(")[0]
        shares = ", ".join(f"{one['reason']} {one['percent']:.1f}%" for one in row["reasons"][:4])
        lines = ", ".join(f"{os.path.basename(one['file'])}:{one['line']} {one['percent']:.1f}%"
                          for one in row["lines"][:3])
        if name in EXPECTED:
            check(row["reasons"][0]["reason"] in EXPECTED[name], f"{name} ({row['samples']}): {shares}; {lines}")
        else:
            print(f"      {name} ({row['samples']}): {shares}; {lines}", flush=True)


def check_hot_line(check, report):
    with open(SOURCE, encoding="utf-8") as file:
        line = next(number for number, text in enumerate(file, 1) if "// waits for this load" in text)
    for row in report["stalls"]:
        if row["kernel"].startswith("chase"):
            share = sum(one["percent"] for one in row["lines"] if one["line"] == line)
            check(share > 90, f"chase: {share:.2f}% of its samples are at the line that loads")


def check_ratio(gpuprof, check, profile, what, key, one, other, within=0.01):
    times = sums(folded(gpuprof, profile, "--unit", "ns", "--leaf", "kernel"), key)
    samples = sums(folded(gpuprof, profile, "--weight", "samples"), key)
    if not check(samples.get(one) and samples.get(other), f"{what}: both have samples"):
        return
    by_time, by_samples = times[one] / times[other], samples[one] / samples[other]
    check(abs(by_samples / by_time - 1) < within,
          f"{what}: {by_samples:.4f} by samples ({samples[one]}:{samples[other]}), {by_time:.4f} by measured time "
          f"({100 * (by_samples / by_time - 1):+.2f}%)")


def path_of(frames):
    if kernel_of(frames) != "shared":
        return ""
    return "long" if any("long_path" in frame for frame in frames) else "short"


def known_answers(options, check):
    program = os.path.join(options.examples, "example_cuda_stalls")
    with tempfile.TemporaryDirectory() as scratch:
        profile, report = record(options.gpuprof, check, scratch, [program])
        if profile:
            check_reasons(check, report)
            check_hot_line(check, report)
            check_conservation(options.gpuprof, check, profile)
            check_ratio(options.gpuprof, check, profile, "heavy:light, eager", kernel_of, "heavy", "light")
            check_ratio(options.gpuprof, check, profile, "one kernel from two paths", path_of, "long", "short")
        profile, report = record(options.gpuprof, check, scratch, [program, "--graph"])
        if profile:
            check_ratio(options.gpuprof, check, profile, "heavy:light, in a graph", kernel_of, "heavy", "light")


def meta(gpuprof, profile, ending):
    """Returns the sum of the META values whose key ends in `ending`: each process has one."""
    total = 0
    for line in run([gpuprof, "dump", "-i", profile]).stdout.splitlines():
        match = re.match(rf'meta key="[^"]*\.{re.escape(ending)}" value="(\d+)"', line)
        total += int(match.group(1)) if match else 0
    return total


def single_launches(options, check):
    """Checks --pc-sampling=exact, in which each sample belongs to a known launch."""
    program = os.path.join(options.examples, "example_cuda_stalls")
    with tempfile.TemporaryDirectory() as scratch:
        profile, report = record(options.gpuprof, check, scratch, [program], "--max-overhead", "100", "--kernel",
                                 "^(heavy|light|shared)\\(", mode="--pc-sampling=exact")
        if profile:
            check(all(row["estimated"] == 0 for row in report["stalls"]), "exact: no sample's launch is estimated")
            check({row["kernel"].split("(")[0] for row in report["stalls"]} == {"heavy", "light", "shared"},
                  "exact: the chosen kernels have samples, and no others")
            check_conservation(options.gpuprof, check, profile)
            check_ratio(options.gpuprof, check, profile, "exact: heavy:light", kernel_of, "heavy", "light")
            check_ratio(options.gpuprof, check, profile, "exact: one kernel from two paths", path_of, "long", "short",
                        within=0.05)  # the first microseconds of each launch are not sampled
            print(f"      {meta(options.gpuprof, profile, 'sampling.exact_launches')} launches sampled, "
                  f"{meta(options.gpuprof, profile, 'sampling.exact_launches_missed')} missed, "
                  f"{meta(options.gpuprof, profile, 'sampling.exact_ns') / 1e6:.1f} ms", flush=True)
        loop = os.path.join(options.examples, "bench_cuda_launch_loop")
        profile, report = record(options.gpuprof, check, scratch, [loop, "--launches", "30000", "--warmup", "1000"],
                                 "--max-overhead", "5", mode="--pc-sampling=exact")
        if profile:
            print(f"      launch loop: {meta(options.gpuprof, profile, 'sampling.exact_launches')} launches sampled, "
                  f"{meta(options.gpuprof, profile, 'sampling.exact_ns') / 1e6:.1f} ms of it", flush=True)
        if run(["python3", "-c", "import torch"]).returncode == 0:
            record(options.gpuprof, check, scratch, ["python3", TORCH_STEP, "--layers", "4", "--steps", "20", "--graph"],
                   mode="--pc-sampling=exact")


def counts(options, check):
    """Checks --sass-metrics: the exact counts of each instruction."""
    program = os.path.join(options.examples, "example_cuda_stalls")
    with tempfile.TemporaryDirectory() as scratch:
        profile = os.path.join(scratch, "profile.txt")
        what = "memory,shared,branches,instructions"
        begin = time.monotonic()
        done = run([options.gpuprof, "record", "-o", profile, "--sass-metrics", what, "--", program, "--rounds", "2"])
        print(done.stderr, f"      {time.monotonic() - begin:.1f} s", flush=True)
        if not check(done.returncode == 0, "--sass-metrics recorded"):
            return
        report = json.loads(run([options.gpuprof, "report", "--json", "--top", "100000", "-i", profile]).stdout)
        print(run([options.gpuprof, "report", "-i", profile]).stdout, flush=True)
        tables = {table["metric"]: table["lines"] for table in report.get("counted", [])}

        def total(metric, kernel, field="value"):
            return sum(line.get(field, 0) for line in tables.get(metric, []) if line["function"].split("(")[0] == kernel)
        sectors = "smsp__sass_sectors_mem_global"
        launches, warps = 2, 264 * 256 // 32
        # Each warp makes a load and a store. Each of them accesses 32 sectors; without the stride, it would access 4.
        check(total(sectors, "stride") == launches * warps * 2 * 32, f"stride: {total(sectors, 'stride')} sectors")
        check(total(sectors, "stride", "reference") == launches * warps * 2 * 4,
              f"stride: {total(sectors, 'stride', 'reference')} at best: 8 times as many as it needs")
        check(total(sectors, "heavy") == total(sectors, "heavy", "reference") > 0, "heavy: coalesced")
        shared = "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared"
        ratio = total(shared, "collide") / max(1, total(shared, "collide", "reference"))
        check(ratio > 20, f"collide: {ratio:.2f} times the wavefronts that it needs")
        threads = "smsp__sass_thread_inst_executed"
        with open(SOURCE, encoding="utf-8") as file:
            ways = [number for number, text in enumerate(file, 1) if "the way of the" in text]
        for way in ways:
            lines = [line for line in tables.get(threads, []) if line["line"] == way and "stray" in line["function"]]
            share = sum(line["value"] for line in lines) / max(1, sum(line["reference"] for line in lines))
            check(0.4 < share < 0.6, f"stray: {100 * share:.1f}% of the threads take the way of line {way}")
        if "example_cuda_modules" in os.listdir(options.examples):
            done = run(["timeout", "60", options.gpuprof, "record", "-o", profile, "--sass-metrics",
                        "smsp__sass_inst_executed", "--", os.path.join(options.examples, "example_cuda_modules")])
            dump = run([options.gpuprof, "dump", "-i", profile]).stdout
            values = {line.rpartition("=")[2] for line in dump.splitlines() if line.startswith("gpu_count")}
            expected = set(re.findall(r"expect kernel.churned_\d+=(\d+)", done.stdout))
            check(done.returncode == 0 and values == expected,
                  f"modules that come and go: each instruction of a kernel ran {values} times, launched {expected}")
        if run(["python3", "-c", "import torch"]).returncode == 0:
            done = run(["timeout", "120", options.gpuprof, "record", "-o", profile, "--sass-metrics", "memory", "--", "python3",
                        TORCH_STEP, "--layers", "2", "--steps", "3"])
            check(done.returncode == 0, f"a PyTorch step: {done.stderr.strip().splitlines()[-1:]}")
            print(run([options.gpuprof, "report", "-i", profile]).stdout, flush=True)


def other_compilers(options, check):
    """Checks the source lines of samples in kernels that CuPy and Numba compile."""
    for module, script, source in (("cupy", "cupy_kernel.py", ""), ("numba.cuda", "numba_kernel.py", "numba_kernel.py")):
        if run(["python3", "-c", f"import numpy; numpy.row_stack = numpy.vstack; import {module}"]).returncode != 0:
            print(f"skip  {module}: python3 has none", flush=True)
            continue
        with tempfile.TemporaryDirectory() as scratch:
            profile, report = record(options.gpuprof, check, scratch, ["python3", os.path.join(PYTHON_EXAMPLES, script)])
            if profile:
                rows = [row for row in report["stalls"] if "chained" in row["kernel"]]
                lines = [(os.path.basename(line["file"]), line["line"], line["percent"]) for row in rows
                         for line in row["lines"][:3]]
                check(any(source in file and line > 0 for file, line, _ in lines), f"{module}: lines {lines}")


def transformer(options, check):
    """Checks the call paths of a Llama model (transformers), from the Python line to the stall reason."""
    if run(["python3", "-c", "import transformers"]).returncode != 0:
        print("skip  transformers: python3 has none", flush=True)
        return
    with tempfile.TemporaryDirectory() as scratch:
        profile, report = record(options.gpuprof, check, scratch,
                                 ["python3", os.path.join(PYTHON_EXAMPLES, "transformers_step.py")])
        if profile:
            check_conservation(options.gpuprof, check, profile)
            stacks = [frames for frames, _ in folded(options.gpuprof, profile, "--weight", "samples")]
            whole = sum(any("modeling_llama.py:" in frame for frame in frames) and frames[-1].endswith("_[g]")
                        for frames in stacks)
            check(whole > 0, f"Llama: {whole} of {len(stacks)} stacks lead from modeling_llama.py to a stall")
            out = os.environ.get("OUT")
            if out:
                run([options.gpuprof, "flame", "-i", profile, "--svg", os.path.join(out, "llama.svg")])


def python_lines(options, check):
    """Checks that the lines of Triton kernels lead to the Python source."""
    if run(["python3", "-c", "import triton, torch, sys; sys.exit(not torch.cuda.is_available())"]).returncode != 0:
        print("skip  Triton: python3 has none that sees a GPU", flush=True)
        return
    with tempfile.TemporaryDirectory() as scratch:
        profile, report = record(options.gpuprof, check, scratch, ["python3", TRITON_KERNEL])
        if profile:
            rows = [row for row in report["stalls"] if row["kernel"].startswith("scaled_softmax")]
            files = {os.path.basename(line["file"]) for row in rows for line in row["lines"]}
            check("triton_kernel.py" in files, f"the Triton kernel's lines are in {sorted(files)}")
            check_conservation(options.gpuprof, check, profile)
            out = os.environ.get("OUT")
            if out:
                run([options.gpuprof, "flame", "-i", profile, "--svg", os.path.join(out, "triton.svg")])


def training_step(options, check):
    """Draws a flame graph that leads from Python lines to stall reasons, for a person to inspect."""
    with tempfile.TemporaryDirectory() as scratch:
        profile, report = record(options.gpuprof, check, scratch,
                                 ["python3", TORCH_STEP, "--layers", "14", "--steps", "30"])
        if profile:
            check_conservation(options.gpuprof, check, profile)
            stacks = [frames for frames, _ in folded(options.gpuprof, profile, "--weight", "samples")]
            whole = sum(any(".py:" in frame for frame in frames) and frames[-1].endswith("_[g]") for frames in stacks)
            check(whole > 0, f"{whole} of {len(stacks)} stacks lead from a Python line to a stall")
            print(run([options.gpuprof, "report", "-i", profile]).stdout, flush=True)
            out = os.environ.get("OUT")
            if out:
                run([options.gpuprof, "flame", "-i", profile, "--svg", os.path.join(out, "torch.svg")])


def proton_step(rounds):
    """Prints the 10th percentile of the step time under PC sampling by Triton Proton, if Proton works here."""
    done = run(["python3", TORCH_STEP, "--layers", "14", "--steps", "20", "--under", "proton-pcsampling"])
    match = re.search(P10, done.stdout)
    print(f"Proton, PC sampling: {match.group(1) + ' ms' if match else done.stderr[-300:]} ({rounds} run)", flush=True)


def cost(options, deadline):
    step = ["python3", TORCH_STEP, "--layers", "14", "--steps", "100"]
    variants = [overhead.NATIVE, overhead.STACKS, overhead.SAMPLES]
    cases = [overhead.Case("PyTorch step p10, ms", P10, step, variants),
             overhead.Case("PyTorch step, graph, p10", P10, [*step, "--graph"], variants)]
    loop = [os.path.join(options.examples, "bench_cuda_launch_loop"), "--launches", "30000", "--warmup", "10000"]
    cases.append(overhead.Case("launch loop, ns", r"(\d+) ns per launch \(median", loop, variants))
    return overhead.alternate(options.gpuprof, cases, options.rounds, deadline)


def part(options, check, deadline):
    known_answers(options, check)
    single_launches(options, check)
    counts(options, check)
    other_compilers(options, check)
    if run(["python3", "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"]).returncode != 0:
        print("skip  PyTorch: python3 has none that sees a GPU", flush=True)
        return None
    python_lines(options, check)
    training_step(options, check)
    transformer(options, check)
    if time.monotonic() + 60 < deadline:
        proton_step(1)
    return cost(options, deadline)
