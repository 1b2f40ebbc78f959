"""The part `stacks` of gpu_check.py: checks that stacks of PyTorch's launches are complete, and measures their cost.

The pieces are independent: if one fails, the script reports it and goes on. Pieces:
  whole   share of launches whose stack reaches the thread's start; depths of the stacks; whether launches of autograd
          threads, which run no Python, have the frame [no Python frames]
  sites   Python stacks compared with traceback.extract_stack() at a few known launches
  step    milliseconds per PyTorch step: native, CUPTI alone, each engine, Proton and torch.profiler with stacks
  llama   the same for a small Llama of `transformers`: training steps and generated tokens
  launch  nanoseconds per launch at depths of 20, 60 and 120 for each engine
  tables  time to make unwind tables of libtorch's files
"""

import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import overhead
import stack_cost

RUNTIME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "runtime")
sys.path[:0] = [RUNTIME, os.path.join(RUNTIME, "stacks")]

import stack_start  # pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "examples", "python")
PIECES = ("whole", "sites", "step", "llama", "launch", "tables")
NOT_HERE = 77  # exit status of an example if a module is missing
NO_PYTHON = "[no Python frames]"

ENGINES = ("inproc", "bpf")
PROTON = overhead.Variant("Proton, Python context", None, {})
TORCH_PROFILER = overhead.Variant("torch.profiler, stacks", None, {})
UNDER = {PROTON.name: "proton", TORCH_PROFILER.name: "torch-profiler"}
STACK_VARIANTS = [overhead.Variant(f"--stacks={name}", [f"--stacks={name}"], {})
                  for name in ("none", "inproc", "bpf", "fp")]
STEP_VARIANTS = [overhead.NATIVE, overhead.FLOOR, *STACK_VARIANTS, PROTON, TORCH_PROFILER]
MOST_OF_NATIVE = 1.20  # the highest accepted ratio to the native time, for a launch-bound step with complete stacks


class StepCase(overhead.Case):
    """A case that runs a Python example. In the variants of UNDER, the example itself starts Proton or torch.profiler."""

    def __init__(self, name, pattern, command, variants):
        super().__init__(name, pattern, command, variants)
        self.plain = command

    def run(self, gpuprof, variant, timeout):
        self.command = [*self.plain, "--under", UNDER[variant.name]] if variant.name in UNDER else self.plain
        super().run(gpuprof, variant, timeout)


def run(command, timeout, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
                          check=False, **options)


def example(name):
    return ["python3", os.path.join(EXAMPLES, name)]


STEP = [*example("torch_step.py"), "--layers", "14"]
LLAMA = example("transformers_step.py")


def recorded(options, engine, command, timeout):
    """Returns (rig.Profile, stdout) of a recording. Raises RuntimeError with the reason if it fails."""
    import rig  # pylint: disable=import-outside-toplevel  # rig reads GPUPROF from the environment

    with tempfile.TemporaryDirectory(prefix="gpuprof-stacks.") as folder:
        path = os.path.join(folder, "profile.txt")
        done = run([options.gpuprof, "record", f"--stacks={engine}", "-o", path, "--", *command], timeout)
        if done.returncode != 0:
            raise RuntimeError(f"exited {done.returncode}: {done.stderr[-600:]}")
        return rig.Profile(path), done.stdout


def reaches_start(stack):
    """Returns whether the outermost frame is where the program or thread begins, judged by the machine code at the frame."""
    frames = [frame for frame in stack if frame.name != NO_PYTHON]
    if not frames or any(frame.kind == "truncated" for frame in frames):
        return False
    first = frames[0]
    return first.name == "_start" or stack_start.begins_program(first.module, first.address) or \
        stack_start.begins_thread(first.module, first.address)


def weighted_median(counts):
    total, seen = sum(counts.values()), 0
    for value in sorted(counts):
        seen += counts[value]
        if 2 * seen >= total:
            return value
    return 0


def shape_of(profile):
    """Returns how complete and how deep the stacks of all GPU records are."""
    stacks = profile.stacks
    native, python, roots = collections.Counter(), collections.Counter(), collections.Counter()
    result = dict.fromkeys(("launches", "without_stack", "whole", "truncated", "no_python"), 0)
    for work, numbers in profile.measured("GPU"):
        count, stack = numbers[0], stacks.get(work.ustack, [])
        result["launches"] += count
        if not stack:
            result["without_stack"] += count
            continue
        result["whole"] += count if reaches_start(stack) else 0
        result["truncated"] += count if any(frame.kind == "truncated" for frame in stack) else 0
        result["no_python"] += count if any(frame.name == NO_PYTHON for frame in stack) else 0
        first = next((frame for frame in stack if frame.name != NO_PYTHON), stack[0])
        roots[f"{first.name} ({os.path.basename(first.module)})"] += count
        native[sum(frame.kind == "native" for frame in stack)] += count
        of_python = sum(frame.kind == "python" for frame in stack)
        if of_python:
            python[of_python] += count
    coverage = profile.coverage()
    return {**result, "share": result["whole"] / max(result["launches"], 1),
            "native_median": weighted_median(native), "native_max": max(native, default=0),
            "python_median": weighted_median(python), "python_max": max(python, default=0),
            "with_python": sum(python.values()), "stacks": len(stacks), "roots": roots.most_common(6),
            "coverage": {word: count for word, count in coverage.items() if word.startswith(("stack", "without"))},
            "losses": profile.losses()}


def piece_whole(options, check, deadline):
    """Measures the share of complete stacks, for each program and engine."""
    programs = {"PyTorch step": [*STEP, "--steps", "5", "--warmup", "3"],
                "Llama step": [*LLAMA, "--steps", "5", "--warmup", "3"],
                "Llama tokens": [*LLAMA, "--generate", "--steps", "10", "--warmup", "3"]}
    results = {}
    for name, command in programs.items():
        plain = run([*command[:2], "--help"], 120)
        if plain.returncode == NOT_HERE:
            print(f"skip  {name}: {plain.stderr.strip()}", flush=True)
            continue
        for engine in ENGINES:
            left = deadline - time.monotonic()
            if left < 30:
                print(f"skip  {name}, {engine}: out of time", flush=True)
                continue
            try:
                profile, _ = recorded(options, engine, command, min(left, 240))
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                check(False, f"{name}, {engine}: {error}")
                continue
            shape = results[f"{name}, {engine}"] = shape_of(profile)
            check_shape(check, f"{name}, {engine}", shape, autograd="step" in name)
    return results


def check_shape(check, name, shape, autograd):
    check(shape["launches"] > 0 and shape["share"] == 1.0,
          f"{name}: {100 * shape['share']:.3f}% of {shape['launches']} launches reach the thread's start "
          f"({shape['truncated']} truncated, {shape['without_stack']} without a stack)")
    print(f"      depth native median {shape['native_median']}, most {shape['native_max']}; Python median "
          f"{shape['python_median']}, most {shape['python_max']}; {shape['stacks']} stacks, {shape['with_python']} "
          f"launches with Python frames; roots {shape['roots']}; {shape['coverage']} {shape['losses']}", flush=True)
    check(shape["python_max"] > 0, f"{name}: has Python frames")
    check(shape["with_python"] + shape["no_python"] == shape["launches"],
          f"{name}: each launch has Python frames or says {NO_PYTHON}")
    if autograd:
        check(shape["no_python"] > 0, f"{name}: {shape['no_python']} launches of threads without Python are labelled")


def python_frames(stack):
    """Returns [[function, file, line]], outermost first, with unqualified function names."""
    return [[frame.name.rsplit(".", 1)[-1], frame.file, frame.line] for frame in stack if frame.kind == "python"]


def compare_sites(profile, sites):
    """Returns what is wrong with the Python stacks of the launches at the sites."""
    stacks, wrong, found = profile.stacks, [], set()
    for work, _ in profile.measured("GPU"):
        site = profile.ranges.get(work.range, "")
        if site not in sites:
            continue
        found.add(site)
        seen = python_frames(stacks.get(work.ustack, []))
        if seen != sites[site]:
            wanted = sites[site]
            at = next((i for i, (a, b) in enumerate(zip(seen, wanted)) if a != b), min(len(seen), len(wanted)))
            wrong.append(f"{site}: frame {at} is {seen[at:at + 1]}, should be {wanted[at:at + 1]} "
                         f"({len(seen)} frames, {len(wanted)} wanted)")
    return wrong + [f"{site}: no launch" for site in sites if site not in found]


def piece_sites(options, check, deadline):
    results = {}
    for engine in ENGINES:
        try:
            profile, stdout = recorded(options, engine, ["python3", os.path.join(HERE, "torch_sites.py")],
                                       min(max(deadline - time.monotonic(), 1), 120))
            sites = json.loads(stdout.strip().splitlines()[-1])["sites"]
            wrong = compare_sites(profile, sites)
        except (RuntimeError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
            check(False, f"sites, {engine}: {error}")
            continue
        check(not wrong, f"sites, {engine}: {len(sites) - len(wrong)} of {len(sites)} Python stacks equal those of "
                         f"traceback.extract_stack() {wrong}")
        results[engine] = {"sites": len(sites), "wrong": wrong}
    return results


def measure(options, check, deadline, cases):
    figures = overhead.alternate(options.gpuprof, cases, options.rounds, deadline)
    for name, figure in figures.items():
        for variant, why in figure["broken"].items():
            check(variant in UNDER, f"{name}, {variant}: {why[-300:]}")
        for row in figure["rows"]:
            if row["variant"] in ("--stacks=inproc", "--stacks=bpf") and "native" in row:
                check(row["native"] <= MOST_OF_NATIVE, f"{name}: {row['variant']} {row['native']:.3f}x of native")
    return figures


def piece_step(options, check, deadline):
    return measure(options, check, deadline, [
        StepCase("PyTorch step, ms", r"([0-9.]+) ms per step", [*STEP, "--steps", "60"], STEP_VARIANTS)])


def piece_llama(options, check, deadline):
    probe = run([*LLAMA, "--help"], 120)
    if probe.returncode == NOT_HERE:
        print(f"skip  Llama: {probe.stderr.strip()}", flush=True)
        return None
    return measure(options, check, deadline, [
        StepCase("Llama step, ms", r"([0-9.]+) ms per step", [*LLAMA, "--steps", "40"], STEP_VARIANTS),
        StepCase("Llama token, ms", r"([0-9.]+) ms per token", [*LLAMA, "--generate", "--steps", "80"], STEP_VARIANTS)])


def piece_launch(options, check, deadline):
    loop = [os.path.join(options.examples, "bench_cuda_launch_loop"), "--launches", "20000", "--batches", "5",
            "--warmup", "10000"]
    cases = stack_cost.cases(loop, shapes={"same": []})
    cases += stack_cost.cases(loop, (60,), {"leaves": ["--leaves", "16"]})
    figures = overhead.alternate(options.gpuprof, cases, options.rounds, deadline)
    print("\n".join(stack_cost.table(figures)), flush=True)
    for name, figure in figures.items():
        for variant, why in figure["broken"].items():
            check(False, f"launch, {name}, {variant}: {why[-300:]}")
    return figures


def torch_libraries():
    found = run(["python3", "-c", "import torch, os; print(os.path.join(os.path.dirname(torch.__file__), 'lib'))"], 120)
    folder = found.stdout.strip()
    names = ("libtorch_cpu.so", "libtorch_cuda.so", "libtorch_python.so", "libc10_cuda.so")
    return [os.path.join(folder, name) for name in names if folder and os.path.exists(os.path.join(folder, name))]


def piece_tables(options, check, deadline):
    program = options.unwind_tables or os.path.join(options.examples, "unwind_tables")
    if not os.path.exists(program):
        print(f"skip  tables: no {program} (--unwind-tables)", flush=True)
        return None
    files = torch_libraries()
    if not check(files, f"tables: files of libtorch: {[os.path.basename(file) for file in files]}"):
        return None
    done = run([program, *files], min(max(deadline - time.monotonic(), 1), 300))
    check(done.returncode == 0, f"tables: status {done.returncode} {done.stderr.strip()[-300:]}")
    print("      " + done.stdout.strip().replace("\n", "\n      "), flush=True)
    return done.stdout.splitlines()


def table(results):
    """Returns lines of text, one per variant: milliseconds, and ratios to native and to CUPTI alone."""
    lines = []
    for piece in ("step", "llama"):
        for name, figure in (results.get(piece) or {}).items():
            lines.append(f"{name}:")
            for row in figure["rows"]:
                lines.append(f"  {row['variant']:26} {statistics.median(row['values']):9.3f}  "
                             f"{row.get('native', 0):6.3f}x native  {row.get('floor', 0):6.3f}x CUPTI alone "
                             f"({row['rounds']} rounds, {row['min']:.3f}..{row['max']:.3f})")
    return lines


def part(options, check, deadline):
    """Runs all pieces, or those of --piece. A piece that fails is reported, and the next one runs."""
    os.environ["GPUPROF"] = options.gpuprof
    results = {}
    for piece in options.piece or PIECES:
        if time.monotonic() > deadline:
            print(f"skip  {piece}: out of time", flush=True)
            continue
        print(f"-- {piece}", flush=True)
        begin = time.monotonic()
        try:
            results[piece] = globals()[f"piece_{piece}"](options, check, deadline)
        except Exception as error:  # pylint: disable=broad-exception-caught  # the other pieces are still to come
            check(False, f"stacks, {piece}: {type(error).__name__}: {error}")
        print(f"   {piece}: {time.monotonic() - begin:.0f} s", flush=True)
    print("\n".join(table(results)), flush=True)
    return results
