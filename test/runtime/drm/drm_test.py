#!/usr/bin/env python3
"""The backend for drivers of the kernel, on Debian's kernel in QEMU: this machine may have no DRM at all.

The machine has the real gpu_sched and the real xe and i915 without their hardware, and drivers of our own that
run jobs for a known time: fake_gpu.c behind the real scheduler, and fake_i915.c. What they measure is what the profile
is held against.
"""

import collections
import functools
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import rig
import vm

HERE = Path(__file__).resolve().parent
SUBMITTER = os.environ["DRM_SUBMITTER"]
SUITE = "bookworm-backports"
OTHER_SUITES = os.environ.get("GPUPROF_TEST_KERNELS", "").split()
BOOT_SECONDS = 200  # without KVM; half a minute where nothing else runs
DRIVERS = ["xe", "i915"]

# The fake drivers: the section in which submitter.c is recorded on one, and what the profile calls its rings and it.
GPUS = {
    "scheduler": (("fakegpu-gfx", "fakegpu-copy0"), ("drm", "fakegpu fakegpu.0", "fakegpu.0")),
    "i915": (("i915-rcs0", "i915-bcs0"), ("drm", "i915 i915.0", "i915.0")),
}
# By submitter.c, of both processes: path, ring, jobs, and how long one is meant to take.
PATHS = [
    (("main", "train", "forward", "submit"), 0, 60, 6_000_000),
    (("main", "train", "backward", "submit"), 0, 40, 12_000_000),
    (("main", "train", "backward", "submit"), 1, 40, 3_000_000),
]
JOBS = sum(path[2] for path in PATHS)
KERNEL_RING, KERNEL_NS = 1, 1_000_000  # each process also has a thread of the kernel queue a job
OF_KERNEL = 2

LOAD_MODULES = r"""
section() { echo "=== $1"; }
section insmod
for module in $(/bin/busybox cat /modules/order); do
  /bin/busybox insmod /modules/$module.ko || echo "cannot load $module"
done
"""
DOCTOR = """
section doctor
/gpuprof doctor 2>&1
"""
INIT = LOAD_MODULES + DOCTOR + r"""
record() { /gpuprof record -o "$@" 2>&1; echo "status $?"; }
section swap
/bin/busybox rmmod i915 && /bin/busybox insmod /fake/i915.ko && /bin/busybox insmod /fake/fake_gpu.ko || echo "cannot swap"
export FAKE_GPU=/dev/fake_gpu
section scheduler
record /tmp/scheduler --backend drm -- /submitter /submitter
section scheduler.profile
/bin/busybox cat /tmp/scheduler
section others
/submitter >/dev/null &
record /tmp/others --backend drm -- /bin/busybox sleep 1
wait
section namespace
/bin/busybox unshare -p -f -m /bin/busybox sh -c \
  '/bin/busybox mount -t proc proc /proc; /gpuprof record -o /tmp/inside --backend drm -- /submitter 2>&1'
section killed
record /tmp/killed --backend drm -- /bin/busybox env DIE=1 /submitter
/gpuprof dump -i /tmp/killed 2>&1
section attached
/bin/busybox sh -c '/bin/busybox sleep 3; /submitter; true' >/dev/null &
record /tmp/attached --backend drm -p $!
section user
/bin/busybox su -s /bin/sh nobody -c '/gpuprof record -o /tmp/user --backend drm -- /bin/busybox true' 2>&1
echo "status $?"
section i915
export FAKE_GPU=/dev/fake_i915
record /tmp/i915 --backend drm -- /submitter /submitter
section i915.profile
/bin/busybox cat /tmp/i915
section end
"""


def timed(what, begin):
    print(f"    {what}: {time.monotonic() - begin:.1f} s", flush=True)
    return time.monotonic()


def kernel_and_headers():
    """(release, folder of the kernel's package, folder of its headers')"""
    archive = vm.Archive(vm.cache_folder(), vm.debian_mirror(), SUITE)
    try:
        archive.update()
        release, image = vm.newest_kernel(archive)
        version = release.removesuffix("-amd64")
        headers = archive.folder / f"headers-{release}"
        for package in (f"linux-headers-{release}", f"linux-headers-{version}-common", f"linux-kbuild-{version}"):
            archive.unpacked(package, headers)
    except subprocess.CalledProcessError as error:
        raise vm.Skipped(f"no packages of {SUITE}: {error.output.strip().splitlines()[-1]}") from error
    return release, image, headers


def build_modules(headers, release, folder):
    """{name: content} of the fake drivers, by the headers where they were unpacked to."""
    tree = headers / f"usr/src/linux-headers-{release}"
    makefile = folder / "headers.mk"
    makefile.write_text((tree / "Makefile").read_text().replace("/usr/src", str(headers / "usr/src")))
    for source in HERE.glob("fake_*.[ch]"):
        (folder / source.name).write_text(source.read_text())
    # What is in i915's place has its name: the backend looks at the types of the module that is called so.
    (folder / "Kbuild").write_text("obj-m := fake_gpu.o i915.o\ni915-y := fake_i915.o\nccflags-y := -I$(src)\n")
    vm.run(["make", "-C", str(tree), "-f", str(makefile), f"M={folder}", "modules"])
    return {name: (folder / name).read_bytes() for name in ("fake_gpu.ko", "i915.ko")}


def files_of(modules):
    """What LOAD_MODULES reads."""
    files = {f"modules/{module}.ko": content for module, content in modules.items()}
    return files | {"modules/order": "\n".join(modules).encode()}


@functools.lru_cache(maxsize=None)
def machine():
    """(output, None), or why there is none; asked once, as each try may take as long as a network is away."""
    try:
        return machine_output(), None
    except vm.Skipped as reason:
        return {}, str(reason)


def machine_output():
    """{section: lines} of one run of the machine."""
    reason = vm.missing_tools(["make", "gcc-12", "strip", "pahole"])
    if reason:
        raise vm.Skipped(reason)
    begin = time.monotonic()
    release, image, headers = kernel_and_headers()
    begin = timed("packages", begin)
    with tempfile.TemporaryDirectory(prefix="gpuprof-drm.") as name:
        folder = Path(name)
        (folder / "module").mkdir()
        fakes = build_modules(headers, release, folder / "module")
        begin = timed("fake drivers", begin)
        modules = vm.Modules(image).with_needed(["gpu_sched", *DRIVERS])
        files = files_of(modules) | {f"fake/{name}": content for name, content in fakes.items()}
        files["bin/sh"] = Path(shutil.which("busybox")).read_bytes()
        files["etc/passwd"] = b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"
        files["etc/group"] = b"root:x:0:\nnogroup:x:65534:\n"
        initrd = folder / "initrd.gz"
        vm.make_initrd(initrd, INIT, {"gpuprof": rig.GPUPROF, "submitter": SUBMITTER}, files)
        begin = timed("initial RAM disk", begin)
        output = vm.boot(next(image.rglob("vmlinuz*")), initrd, BOOT_SECONDS)
        timed("boot and run", begin)
    return {part.split("\n", 1)[0]: part.split("\n")[1:] for part in re.split(r"^=== ", output, flags=re.M)}


class Drm(rig.RuntimeTest):
    def setUp(self):
        super().setUp()
        self.sections, reason = machine()
        if reason:
            self.skipTest(reason)
        self.assertIn("end", self.sections, "the machine has not come to its end:\n" + self.said(*self.sections))

    def said(self, *sections):
        return "\n".join("\n".join([f"--- {name}", *self.sections[name]]) for name in sections)

    def profiles(self):
        """(section, rings, Profile) of each fake driver, one after the other."""
        for section, (rings, _) in GPUS.items():
            self.assertIn("status 0", self.sections[section], self.said(section))
            with open(self.profile_path, "w", encoding="utf-8") as file:
                file.write("\n".join(self.sections[f"{section}.profile"]))
            yield section, rings, rig.Profile(self.profile_path)

    def truth(self, section):
        """{ring: (jobs, busy ns)}, as the driver has told the last submitter."""
        return {int(ring): (int(jobs), int(ns))
                for ring, jobs, ns in re.findall(r"^TRUTH (\d+) (\d+) (\d+)$", self.said(section), re.M)}

    def test_the_real_drivers_are_there_and_all_programs_attach(self):
        self.assertEqual([line for line in self.sections["insmod"] if "cannot load" in line], [])
        line = next(line for line in self.sections["doctor"] if re.match(r"\s+\w+\s+drm ", line))
        self.assertRegex(line, r"^\s+ok .*: tracepoints drm_sched_job, drm_run_job, drm_sched_process_job; requests of i915$")

    def test_jobs_and_times_are_those_of_the_gpu(self):
        for section, rings, profile in self.profiles():
            seen = collections.defaultdict(lambda: [0, 0])
            for _, op, name, count, ns in profile.gpu():
                self.assertEqual(op, "kernel")
                seen[name][0] += count
                seen[name][1] += ns
            self.assertEqual(set(seen), set(rings))
            for ring, name in enumerate(rings):
                jobs, busy = self.truth(section)[ring]
                if ring == KERNEL_RING:
                    jobs -= OF_KERNEL
                    busy -= OF_KERNEL * KERNEL_NS
                print(f"    {name}: {seen[name][0]} of {jobs} jobs, {seen[name][1] / busy:.4%} of their time", flush=True)
                self.assertEqual(seen[name][0], jobs, name)
                self.assertLess(abs(seen[name][1] / busy - 1), 0.01 if ring != KERNEL_RING else 0.03, (name, seen, busy))
            self.assert_conserved(profile)

    def test_every_job_is_paired(self):
        for section, _, profile in self.profiles():
            coverage = profile.coverage()
            self.assertEqual(coverage["launches"], JOBS)
            self.assertEqual(coverage["matched"], JOBS)
            self.assertNotIn("without_launch", coverage)
            self.assertNotIn("without_stack", coverage)
            self.assertEqual(profile.losses(), {}, self.said(section))
            unknown = [value for key, values in profile.meta().items() if key.endswith(".drm.jobs_of_unknown_submitter")
                       for value in values]
            self.assertEqual(unknown, [str(OF_KERNEL)])

    def test_stacks_are_those_of_the_submitters(self):
        for _, rings, profile in self.profiles():
            found = collections.Counter()
            processes = set()
            for work, numbers in profile.measured("GPU"):
                names = profile.frames(work.ustack)
                self.assertIn("ioctl", names[-1])
                found[tuple(names[names.index("main"):-1]), work.name] += numbers[0]
                self.assertEqual(work.thread, "submitter")
                self.assertNotEqual(work.tid, 0)
                processes.add(work.process)
            self.assertEqual(found, {(path, rings[ring]): jobs for path, ring, jobs, _ in PATHS})
            self.assertEqual(len(processes), 2)  # the second submitter is a child of the first

    def test_waiting_is_told_apart_from_work(self):
        for _, rings, profile in self.profiles():
            meant = {(path[2], rings[ring]): ns for path, ring, _, ns in PATHS}
            waited = collections.Counter()
            for work, (count, ns, least, _, _, queue_ns, _) in profile.measured("GPU"):
                path = next(frame for frame in profile.frames(work.ustack) if frame in ("forward", "backward"))
                # Several jobs of a ring are with the hardware at once: each counts from the end of the one before it. That
                # may have been late, but no job is short of much.
                self.assertGreater(least, 0.8 * meant[path, work.name], (path, work.name))
                waited[path, work.name] += queue_ns - ns
            # All are queued within some milliseconds, and so wait for most of those before them.
            self.assertGreater(waited["forward", rings[0]], 0)
            self.assertGreater(waited["backward", rings[0]], 0)

    def test_the_device_is_the_card(self):
        for section, _, profile in self.profiles():
            text = profile.strings()
            self.assertEqual([(text[row[1]], text[row[3]], text[row[4]]) for row in profile.of("DEVICE")],
                             [GPUS[section][1]])

    def test_other_processes_are_not_recorded(self):
        self.assertIn("status 0", self.sections["others"], self.said("others"))
        self.assertIn("used no GPU", self.said("others"))

    def test_a_recorder_in_a_pid_namespace_sees_its_own(self):
        self.assertIn(f"{JOBS // 2} launches, {JOBS // 2} GPU records", self.said("namespace"))

    def test_a_running_process_and_its_children_can_be_recorded(self):
        said = self.said("attached")
        self.assertIn(f"{JOBS // 2} launches, {JOBS // 2} GPU records", said)
        self.assertIn("coverage 100.00%, lost nothing", said)

    def test_jobs_that_die_with_their_process_are_counted(self):
        said = self.said("killed")
        done = int(re.search(r"30 launches, (\d+) GPU records", said).group(1))
        self.assertGreater(done, 0)
        self.assertLess(done, 30)
        self.assertIn("lost nothing", said)  # the others never ran
        self.assertRegex(said, rf'coverage .*what="?failed"? count={30 - done}\b')
        self.assertRegex(said, "target: signal 9")

    @unittest.skipUnless(OTHER_SUITES, "GPUPROF_TEST_KERNELS names no suites, such as 'bookworm sid'")
    def test_all_programs_attach_on_other_kernels(self):
        for suite in OTHER_SUITES:
            with self.subTest(suite), tempfile.TemporaryDirectory(prefix="gpuprof-drm.") as name:
                archive = vm.Archive(vm.cache_folder(), vm.debian_mirror(), suite)
                archive.update()
                release, image = vm.newest_kernel(archive)
                modules = vm.Modules(image)
                there = modules.with_needed([driver for driver in ["gpu_sched", *DRIVERS] if driver in modules.files])
                initrd = Path(name) / "initrd.gz"
                vm.make_initrd(initrd, LOAD_MODULES + DOCTOR, {"gpuprof": rig.GPUPROF}, files_of(there))
                output = vm.boot(next(image.rglob("vmlinuz*")), initrd, BOOT_SECONDS)
                self.assertNotIn("cannot load", output)
                self.assertRegex(output, r"(?m)^  ok +drm .*: tracepoints drm_.*; requests of i915$")
                print(f"    {release}: {re.search('tracepoints .*', output).group(0)}", flush=True)

    def test_without_rights_the_user_is_told_what_would_help(self):
        said = self.said("user")
        self.assertIn("status 1", self.sections["user"], said)
        self.assertRegex(said, "--backend drm is impossible here: .*(not permitted|denied)")
        self.assertIn("hint: run gpuprof as root", said)


if __name__ == "__main__":
    rig.main()
