#!/usr/bin/env python3
"""Measures what a launch costs at stacks of 20, 60 and 120 frames, for each stack engine, in alternating rounds.

    test/bench/stack_cost.py --gpuprof build/gpuprof --mock build/test/bench/stack_cost \\
                             --mock-libraries build/test/mocks
    test/bench/stack_cost.py --gpuprof build/gpuprof --cuda build/examples/cuda/bench_cuda_launch_loop

--mock measures the engines on any machine. `none` records without stacks, so the difference to it is the cost of the stack.
Ratios mean little with --mock, as the mock driver's launch is much cheaper than a real one. --cuda measures on a GPU.
"""

import argparse
import json
import os
import sys

import overhead

NONE = overhead.Variant("none", ["--stacks=none"], {})
ENGINES = [overhead.Variant(name, [f"--stacks={name}"], {}) for name in ("inproc", "bpf", "fp")]
VARIANTS = [overhead.NATIVE, NONE, *ENGINES]
DEPTHS = (20, 60, 120)
PATTERN = r"(\d+) ns per launch \(median"
# Each key stands for the frames that differ from those of the previous launch. With "same", no frame
# differs. With "leaves", the innermost frame differs. With "climb", the eleven innermost frames differ.
SHAPES = {"same": [], "leaves": ["--leaves", "16"]}
CLIMBING = {"climb": ["--leaves", "16", "--climb", "10"]}


def cases(command, depths=DEPTHS, shapes=None, variants=None):
    shapes = SHAPES if shapes is None else shapes
    return [overhead.Case(f"depth {depth}, {shape}, ns", PATTERN, [*command, "--depth", str(depth), *options],
                          VARIANTS if variants is None else variants)
            for depth in depths for shape, options in shapes.items()]


def table(figures):
    """Returns rows of text: a case, then for each variant the ns per launch and, in parentheses, how many more than `none`."""
    names = [variant.name for variant in VARIANTS]
    lines = [f"{'ns per launch (over none)':26}" + "".join(f"{name:>17}" for name in names)]
    for case, figure in figures.items():
        medians = {row["variant"]: row["median"] for row in figure["rows"]}
        cells = []
        for name in names:
            if name not in medians:
                cells.append("broken" if name in figure["broken"] else "-")
            elif name in (overhead.NATIVE.name, NONE.name) or NONE.name not in medians:
                cells.append(f"{medians[name]:.0f}")
            else:
                cells.append(f"{medians[name]:.0f} ({medians[name] - medians[NONE.name]:+.0f})")
        lines.append(f"{case:26}" + "".join(f"{cell:>17}" for cell in cells))
        lines += [f"{'':26}{name}: {why}" for name, why in figure["broken"].items()]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpuprof", required=True)
    parser.add_argument("--mock", metavar="PROGRAM")
    parser.add_argument("--mock-libraries", metavar="FOLDER", help="folder of the mock libcuda and libcupti")
    parser.add_argument("--cuda", metavar="PROGRAM")
    parser.add_argument("--depth", action="append", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    depths = options.depth or DEPTHS
    wanted = []
    if options.mock:
        os.environ["LD_LIBRARY_PATH"] = os.path.abspath(options.mock_libraries or os.path.dirname(options.mock))
        wanted += cases([os.path.abspath(options.mock)], depths, {**SHAPES, **CLIMBING})
    if options.cuda:
        wanted += cases([os.path.abspath(options.cuda), "--launches", "20000", "--batches", "5"], depths)
    if not wanted:
        parser.error("--mock or --cuda: which program?")
    figures = overhead.alternate(os.path.abspath(options.gpuprof), wanted, options.rounds)
    print("\n".join(table(figures)))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)
    return 1 if any(figure["broken"] for figure in figures.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
