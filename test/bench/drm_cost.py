#!/usr/bin/env python3
"""Measures what a submission to a kernel driver costs, with and without `record --backend drm`. Counts the instructions of an
ioctl of the fake drivers, user space and kernel together, in QEMU. With -icount, QEMU's clock advances one nanosecond per
instruction, so other load does not matter. The counts say little about time on a real processor.

native: not recorded. recorded: submissions from the program's start on, mostly before the recorder has unwind tables for it.
whole: submissions after the recorder has these tables.

environment: PYTHONPATH=test/runtime:test/runtime/drm
"""

import argparse
import re

import machine

SCRIPT = r"""
section cost
for turn in 1 2 3; do
  for node in dri/fake_gpu dri/fake_xe fake_i915; do
    export FAKE_GPU=/dev/$node COST=500
    echo "$node native $(/submitter)"
    echo "$node recorded $(/gpuprof record -o /tmp/cost --backend drm -- /submitter 2>/dev/null)"
    export WARM_UP=/tmp/warm
    /bin/busybox rm -f $WARM_UP /tmp/cost
    (until /bin/busybox grep -q gpu_ioctl /tmp/cost 2>/dev/null; do /bin/busybox sleep 0.1; done; >$WARM_UP) &
    echo "$node whole $(/gpuprof record -o /tmp/cost --backend drm -- /submitter 2>/dev/null)"
    /bin/busybox kill $! 2>/dev/null
    wait
    unset WARM_UP
  done
done
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpuprof", required=True)
    parser.add_argument("--submitter", required=True, help="drm_submitter of the build")
    parser.add_argument("--suite", default="bookworm-backports")
    options = parser.parse_args()
    sections = machine.run(options.suite, {"gpuprof": options.gpuprof, "submitter": options.submitter}, lambda _: SCRIPT,
                           qemu=["-smp", "1", "-icount", "shift=0,sleep=off"], seconds=1800)
    medians = {}
    for node, kind, ns in re.findall(r"^(\S+) (native|recorded|whole) COST (\d+)$", "\n".join(sections["cost"]), re.M):
        medians.setdefault(node, {}).setdefault(kind, []).append(int(ns))
    for node, kinds in medians.items():
        for kind, values in kinds.items():
            print(f"{node} {kind}: {sorted(values)} instructions a submission, the median of each run")


if __name__ == "__main__":
    main()
