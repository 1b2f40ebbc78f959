#!/usr/bin/env python3
"""Tests `record --cpu=bpf` on an older kernel, and in a cgroup of version 2, in QEMU.

The kernel is Debian 12's (6.1): it has no tracepoint for the end of a thread's time off a CPU, so gpuprof uses a kprobe.
"""

import collections
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import rig
import vm

SUITE = "bookworm"
BOOT_SECONDS = 600
POINTS = 0.03
LIMIT = "15000 100000"  # us of CPU time in each 100 ms
SCRIPT = rf"""
export GPUPROF_CUPTI_PATH=/cupti
record() {{ /gpuprof record -o "$@" 2>&1; echo "status $?"; }}
section doctor
/gpuprof doctor 2>&1
section exact
record /tmp/exact --cpu=bpf -- /phases
section exact.profile
/bin/busybox cat /tmp/exact
/bin/busybox mount -t cgroup2 cgroups /sys/fs/cgroup
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
for how in exact polled; do
  /bin/busybox mkdir /sys/fs/cgroup/$how
  echo {LIMIT} >/sys/fs/cgroup/$how/cpu.max
done
section throttled.exact
record /tmp/throttled --cpu=bpf -- /bin/sh -c 'echo $$ >/sys/fs/cgroup/exact/cgroup.procs && exec /phases'
/bin/busybox cat /sys/fs/cgroup/exact/cpu.stat
section throttled.exact.profile
/bin/busybox cat /tmp/throttled
section throttled.polled
record /tmp/polled --cpu -- /bin/sh -c 'echo $$ >/sys/fs/cgroup/polled/cgroup.procs && exec /phases'
/bin/busybox cat /sys/fs/cgroup/polled/cpu.stat
section throttled.polled.profile
/bin/busybox cat /tmp/polled
section end
"""


def run_machine():
    """Returns {section: lines} of the machine's output."""
    if reason := vm.missing_tools(["strip"]):
        raise vm.Skipped(reason)
    try:
        with vm.cache_to_itself():
            archive = vm.Archive(vm.cache_folder(), vm.debian_mirror(), SUITE)
            archive.update()
            _, image = vm.newest_kernel(archive)
    except subprocess.CalledProcessError as error:
        raise vm.Skipped(f"no packages of {SUITE}: {error.output.strip().splitlines()[-1]}") from error
    mocks = Path(os.environ["MOCK_CUDA_DIR"])
    files = {f"cupti/{path.name}": path.read_bytes() for path in mocks.glob("libcupti.so.*")}
    files["bin/sh"] = Path(shutil.which("busybox")).read_bytes()
    with tempfile.TemporaryDirectory(prefix="gpuprof-cpu.") as name:
        initrd = Path(name) / "initrd.gz"
        vm.make_initrd(initrd, vm.SECTIONS + SCRIPT, {"gpuprof": rig.GPUPROF, "phases": os.environ["MOCK_PHASES_APP"]}, files)
        return vm.sections_in(vm.boot(next(image.rglob("vmlinuz*")), initrd, BOOT_SECONDS))


class OlderKernel(rig.RuntimeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sections = vm.sections_of(run_machine)

    def recorded(self, section):
        """Returns {(function, leaf): idle ns} of a recording, and what its program measured."""
        lines = self.sections[section]
        self.assertIn("status 0", lines, vm.said(self.sections, section))
        with open(self.profile_path, "w", encoding="utf-8") as file:
            file.write("\n".join(self.sections[f"{section}.profile"]))
        self.assertEqual(rig.Profile(self.profile_path).losses(), {}, vm.said(self.sections, section))
        expected = {name: int(ns) for name, ns in re.findall(r"^expect (\w+)=(\d+)$", "\n".join(lines), re.M)}
        idle = collections.Counter()
        for frames, ns in self.folded("--weight", "idle"):
            idle[next((name for name in expected if any(name in frame for frame in frames)), ""), frames[-1]] += ns
        return idle, expected

    def test_the_kernel_is_the_older_one(self):
        self.assertIn("KERNEL 6.1.", vm.said(self.sections, *self.sections))

    def test_exact_times_have_their_functions(self):
        idle, expected = self.recorded("exact")
        whole = expected["whole"]
        for function, leaf in (("compute_in_a", "[on CPU]"), ("sleep_in_b", "[sleeps]"), ("wait_for_lock", "[waits: futex]")):
            self.assertAlmostEqual(idle[function, leaf] / whole, expected[function] / whole, delta=POINTS,
                                   msg=f"{function}: expected {expected}, found {idle}")

    def check_throttled(self, section, least, most):
        idle, _ = self.recorded(section)
        throttled = 1000 * int(re.search(r"^throttled_usec (\d+)", "\n".join(self.sections[section]), re.M)[1])
        found = sum(ns for (_, leaf), ns in idle.items() if leaf == "[throttled]")
        print(f"throttled for {throttled / 1e9:.3f} s, found {found / 1e9:.3f} s")
        self.assertGreater(throttled, 500_000_000)
        self.assertGreater(found, least * throttled, idle)
        self.assertLess(found, most * throttled, idle)
        return idle

    def test_exact_times_of_a_throttled_cgroup_of_version_2(self):
        idle = self.check_throttled("throttled.exact", 0.8, 1.05)
        self.assertGreater(idle["compute_in_a", "[throttled]"], 0)

    def test_polls_find_a_throttled_cgroup_of_version_2(self):
        self.check_throttled("throttled.polled", 0.5, 1.05)


if __name__ == "__main__":
    rig.main()
