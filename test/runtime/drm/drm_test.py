#!/usr/bin/env python3
"""Tests the backend for kernel drivers on Debian kernels in QEMU, as this machine may have no DRM at all.

The virtual machine has the real gpu_sched, and the real xe and i915 without hardware. Fake drivers run jobs for a known
time: fake_gpu.c behind the real scheduler, the same code built as xe (fake_xe.c), and fake_i915.c. The tests compare the
profile with what the fake drivers measure.
"""

import collections
import os
import re
import subprocess
import sys
from pathlib import Path

import kernels
import machine
import rig
import vm

SUITE = "bookworm-backports"
OTHER_SUITES = os.environ.get("GPUPROF_TEST_KERNELS", "").split()

# The fake drivers. A key is the section of the output in which submitter.c is recorded on the driver. A value has the
# driver's module and device node, and the names of its rings and device in the profile.
Gpu = collections.namedtuple("Gpu", "module node rings device")
GPUS = {
    "scheduler": Gpu("fake_gpu", "dri/fake_gpu", ("fakegpu-gfx", "fakegpu-copy0"), ("drm", "fakegpu fakegpu.0", "fakegpu.0")),
    "xe": Gpu("xe", "dri/fake_xe", ("xe-rcs", "xe-ccs"), ("drm", "xe xe.0", "xe.0")),
    "i915": Gpu("i915", "fake_i915", ("i915-rcs0", "i915-bcs0"), ("drm", "i915 i915.0", "i915.0")),
}
# The jobs of submitter.c in both processes: path, ring, number of jobs, and intended duration in ns.
PATHS = [
    (("main", "train", "forward", "submit"), 0, 60, 6_000_000),
    (("main", "train", "backward", "submit"), 0, 40, 12_000_000),
    (("main", "train", "backward", "submit"), 1, 40, 10_000_000),
]
JOBS = sum(path[2] for path in PATHS)
OF_KERNEL = 4  # for each of the two processes, a Linux kernel thread also queues two jobs

FUNCTIONS = r"""
section doctor.fake
/gpuprof doctor 2>&1
record() { /gpuprof record -o "$@" 2>&1; echo "status $?"; }
# Records a program that submits warm-up jobs until the recorder has its unwind tables.
record_warm() {
  export WARM_UP=/tmp/warm
  /bin/busybox rm -f $WARM_UP $1
  (until /bin/busybox grep -q warm_up $1 2>/dev/null; do /bin/busybox sleep 0.1; done; >$WARM_UP) &
  record "$@"
  /bin/busybox kill $! 2>/dev/null
  wait
  unset WARM_UP
}
"""
# The script of the recordings on one fake driver. It runs for each driver.
JOBS_AND_TIMES = r"""
section {name}
export FAKE_GPU=/dev/{gpu.node}
record /tmp/{name} --backend drm -- /submitter /submitter
section {name}.profile
/bin/busybox cat /tmp/{name}
section {name}.whole
record_warm /tmp/{name} --backend drm -- /frameless
section {name}.whole.profile
/bin/busybox cat /tmp/{name}
section {name}.python
record_warm /tmp/{name} --backend drm -- {python} -S -E -B /submit.py
section {name}.python.profile
/bin/busybox cat /tmp/{name}
"""
# The script of all other recordings.
MORE = r"""
export FAKE_GPU=/dev/dri/fake_gpu
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
/bin/busybox sh -c 'until [ -s /tmp/attached ]; do /bin/busybox sleep 0.2; done; /submitter; true' >/dev/null &
record /tmp/attached --backend drm -p $!
section user
/bin/busybox su -s /bin/sh nobody -c '/gpuprof record -o /tmp/user --backend drm -- /bin/busybox true' 2>&1
echo "status $?"
section setuid
/bin/busybox chmod 666 /dev/dri/fake_gpu
/bin/busybox cp /submitter /suid
/bin/busybox chmod 4755 /suid
(until [ -s /tmp/setuid ]; do /bin/busybox sleep 0.2; done
 # The recorder sees the job only after the process has executed the other program.
 /bin/busybox kill -STOP $(/bin/busybox pidof gpuprof)
 >/tmp/go
 until [ -e /tmp/handed ]; do /bin/busybox sleep 0.2; done
 /bin/busybox kill -CONT $(/bin/busybox pidof gpuprof)
 until /bin/busybox grep -q '^GPU;' /tmp/setuid; do /bin/busybox sleep 0.2; done
 >/tmp/over) &
record /tmp/setuid --user nobody --backend drm -- /bin/busybox env FAKE_GPU=/dev/dri/fake_gpu HANDOVER=/suid /submitter
wait
section setuid.profile
/bin/busybox cat /tmp/setuid
export FAKE_GPU=/dev/dri/fake_xe
section evicted
(until [ -e /tmp/ready ]; do /bin/busybox sleep 0.2; done
 /bin/busybox env QUEUES=20000 /submitter
 >/tmp/created) &
record /tmp/evicted --backend drm -- /bin/busybox env AFTER=/tmp/created /submitter
wait
section evicted.profile
/bin/busybox cat /tmp/evicted
for generation in pvc xe3p xe2; do
  section stalls.$generation
  GENERATION=$generation record /tmp/stalls --stalls --sampling-period 1024 --backend drm -- /staller
  section stalls.$generation.profile
  /bin/busybox cat /tmp/stalls
done
section stalls.folded
/gpuprof flame -i /tmp/stalls --weight samples --leaf line,stall 2>/dev/null
section stalls.busy
/gpuprof record -q -o /tmp/busy --stalls --backend drm -- /bin/busybox sleep 600 >/dev/null 2>&1 &
until [ -s /tmp/busy ]; do /bin/busybox sleep 0.2; done
record /tmp/refused --stalls --backend drm -- /bin/busybox true
/bin/busybox kill $!
wait
section stalls.paranoid
echo 1 >/sys/module/xe/parameters/paranoid
record /tmp/refused --stalls --backend drm -- /bin/busybox true
section batches
FAKE_GPU=/dev/fake_i915 record /tmp/batches --stalls --backend drm -- /batches
section batches.profile
/bin/busybox cat /tmp/batches
echo 0 >/sys/module/xe/parameters/paranoid
export FAKE_GPU=/dev/dri/fake_gpu
section gone
/bin/busybox sh -c 'until [ -s /tmp/gone ]; do /bin/busybox sleep 0.2; done
  echo fakegpu.0 >/sys/bus/platform/drivers/fakegpu/unbind && echo unbound' 2>&1 &
record /tmp/gone --backend drm -- /bin/busybox sh -c 'while [ -e /sys/bus/platform/drivers/fakegpu/fakegpu.0 ]; do
  /bin/busybox sleep 0.2; done; exec /submitter'
/gpuprof report -i /tmp/gone 2>&1
echo fakegpu.0 >/sys/bus/platform/drivers/fakegpu/bind
section hung
/bin/busybox sh -c 'until [ -s /tmp/hung ]; do /bin/busybox sleep 0.2; done; HANG=1 exec /submitter' &
record /tmp/hung --duration 10s --backend drm -p $!
"""


def script(modules, more):
    gpus = {name: gpu for name, gpu in GPUS.items() if gpu.module in modules}
    return FUNCTIONS + "".join(JOBS_AND_TIMES.format(name=name, gpu=gpu, python=PYTHON) for name, gpu in gpus.items()) + more


PYTHON = os.path.realpath(sys.executable)
HERE = Path(__file__).resolve().parent


def python_files():
    """Returns {name in /: bytes} of this Python, the modules that submit.py imports, and their libraries."""
    listing = subprocess.run([PYTHON, "-S", "-E", "-B", "-c", (
        "import sys, ctypes, fcntl, os, struct, time\n"
        "print(*[module.__file__ for module in sys.modules.values() if getattr(module, '__file__', None)], sep='\\n')\n"
        "print(*[line.split()[-1] for line in open('/proc/self/maps') if '/' in line], sep='\\n')")],
        check=True, text=True, stdout=subprocess.PIPE).stdout
    paths = {path for path in listing.splitlines() if os.path.isfile(path)}
    for program in [PYTHON, *(path for path in paths if "/lib-dynload/" in path)]:
        paths |= set(vm.libraries_of(program))  # the loader searches for the libraries under these names
    files = {path.lstrip("/"): Path(path).read_bytes() for path in paths}
    return files | {"submit.py": (HERE / "submit.py").read_bytes()}


def run_machine(suite, more):
    """Returns {section: lines} of a virtual machine with the kernel of the suite. The machine also runs the script `more`."""
    programs = {"gpuprof": rig.GPUPROF, "submitter": os.environ["DRM_SUBMITTER"], "frameless": os.environ["DRM_FRAMELESS"],
                "staller": os.environ["DRM_STALLER"], "batches": os.environ["DRM_BATCHES"]}
    return machine.run(suite, programs, lambda modules: script(modules, more), more_files=python_files())


class Jobs:
    """Tests that run on each kernel. `suite` is the Debian suite of the kernel. `more` is a script with more recordings."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # If the virtual machine does not start, or panics, this is one skip or one error, not one for each test.
        cls.sections = vm.sections_of(lambda: run_machine(cls.suite, cls.more))

    def said(self, *sections):
        return vm.said(self.sections, *sections)

    def profiles(self, what=""):
        """Yields (section, rings, Profile) for each fake driver that this kernel supports."""
        there = [section for section in GPUS if section in self.sections]
        self.assertEqual(there, [section for section in GPUS if section != "xe" or self.has_xe()])
        for section in there:
            self.assertIn("status 0", self.sections[section + what], self.said(section + what))
            with open(self.profile_path, "w", encoding="utf-8") as file:
                file.write("\n".join(self.sections[f"{section}{what}.profile"]))
            yield section, GPUS[section].rings, rig.Profile(self.profile_path)

    def has_xe(self):
        return "KERNEL 6.1." not in self.said(*self.sections)

    def names_clients(self, section):
        """Returns whether Linux reports the client of a job from a kernel thread. drm_sched does so since 6.17."""
        return section != "i915" and "tracepoints drm_sched_job_queue" in self.said("doctor")

    def truth(self, section):
        """Returns {ring: [(jobs, busy ns) of the first process, (jobs, busy ns) of the second]} from the driver."""
        truth = collections.defaultdict(list)
        for ring, jobs, ns in re.findall(r"^TRUTH (\d+) (\d+) (\d+)$", self.said(section), re.M):
            before = [sum(numbers) for numbers in zip((0, 0), *truth[int(ring)])]
            truth[int(ring)].append((int(jobs) - before[0], int(ns) - before[1]))
        return truth

    @staticmethod
    def with_thread(profile):
        """Returns the work that processes, not kernel threads, have queued."""
        return [(work, numbers) for work, numbers in profile.measured("GPU") if work.tid != 0]

    def drm_line(self, section):
        return next(line for line in self.sections[section] if re.match(r"\s+\w+\s+drm ", line))

    def test_all_programs_attach_to_the_real_drivers(self):
        self.assertEqual([line for line in self.sections["insmod"] if "cannot load" in line], [])
        queues = "exec queues of xe; " if self.has_xe() else ""
        for section in ("doctor", "doctor.fake"):
            self.assertRegex(self.drm_line(section), r"^\s+ok .*: tracepoints (drm_sched_job, drm_run_job, drm_sched_process_job|"
                             "drm_sched_job_queue, drm_sched_job_run, drm_sched_job_done); requests of i915; "
                             f"{queues}contexts of i915(; EU stalls of 2 GTs)?$")
        self.assertEqual("; EU stalls of 2 GTs" in self.drm_line("doctor.fake"), self.has_xe())
        print("   ", self.drm_line("doctor").strip(), flush=True)

    def test_a_missing_driver_is_reported(self):
        self.assertNotRegex(self.drm_line("bare"), r"^\s+ok ")
        self.assertIn("no GPU driver of this machine can report its jobs", self.said("bare"))

    def test_a_driver_cannot_be_unloaded_until_the_recording_ends(self):
        self.assertRegex(self.said("loaded"), "rmmod: .*i915.*(busy|temporarily unavailable)")
        self.assertEqual([line for line in self.sections["swap"] if "cannot" in line], [])

    def test_jobs_and_times_are_those_of_the_gpu(self):
        for section, rings, profile in self.profiles():
            pids = {row[0]: int(row[1]) for row in profile.of("PROCESS")}
            seen = collections.defaultdict(lambda: [0, 0])
            for work, (count, ns, *_) in self.with_thread(profile):
                self.assertEqual(work.op, "kernel")
                seen[work.name, pids[work.process]][0] += count
                seen[work.name, pids[work.process]][1] += ns
            self.assertEqual({name for name, _ in seen}, set(rings))
            for ring, name in enumerate(rings):
                # `truth` has the child first, because it uses the GPU first. Sorted by pid, the child is last: hence [::-1].
                found = [numbers for (_, _), numbers in sorted((key, n) for key, n in seen.items() if key[0] == name)][::-1]
                truth = self.truth(section)[ring]
                self.assertEqual([count for count, _ in found], [jobs for jobs, _ in truth], name)
                ratios = [ns / busy for (_, ns), (_, busy) in zip(found, truth)]
                print(f"    {name}: {sum(count for count, _ in found)} jobs, {' and '.join(f'{r:.4%}' for r in ratios)} of their time",
                      flush=True)
                # QEMU's processor may pause when a job begins or ends. So only one of the two processes must have a ratio near 1.
                self.assertLess(min(abs(ratio - 1) for ratio in ratios), 0.01, (name, found, truth))
                self.assertLess(max(abs(ratio - 1) for ratio in ratios), 0.2, (name, found, truth))
            self.assert_conserved(profile)

    def of_clients(self, section, processes=2):
        """Returns the number of jobs in the profile that Linux kernel threads have queued."""
        return OF_KERNEL // 2 * processes if self.names_clients(section) else 0

    def test_every_job_is_paired(self):
        for section, _, profile in self.profiles():
            coverage = profile.coverage()
            self.assertEqual(coverage["launches"], JOBS + self.of_clients(section))
            self.assertEqual(coverage["matched"], JOBS + self.of_clients(section))
            self.assertNotIn("without_launch", coverage)
            self.assertEqual(coverage.get("without_stack", 0), self.of_clients(section))
            self.assertEqual(profile.losses(), {}, self.said(section))

    def test_jobs_queued_by_kernel_threads_belong_to_their_client_or_are_counted(self):
        for section, _, profile in self.profiles():
            unknown = [value for key, values in profile.meta().items() if key.endswith(".drm.jobs_of_unknown_submitter")
                       for value in values]
            self.assertEqual(unknown, [str(OF_KERNEL - self.of_clients(section))])
            self.assertEqual("kernel threads queued for unknown processes" in self.said(section),
                             not self.names_clients(section))
            counts = collections.Counter()
            for work, (count, *_) in profile.measured("GPU"):
                if work.tid == 0:
                    counts[work.process, work.name] += count
                    self.assertEqual(profile.frames(work.ustack), [])
            self.assertEqual(sorted(counts.values()), [2, 2] if self.names_clients(section) else [])

    def test_stacks_are_those_of_the_submitters(self):
        for _, rings, profile in self.profiles():
            found = collections.Counter()
            processes = set()
            for work, numbers in self.with_thread(profile):
                names = profile.frames(work.ustack)
                self.assertIn("ioctl", names[-1])
                # Without unwind tables, stacks lack gpu_ioctl, the caller of the C library's ioctl(). So gpu_ioctl is not
                # compared.
                path = [name for name in names[names.index("main"):-1] if name != "gpu_ioctl"]
                found[tuple(path), work.name] += numbers[0]
                self.assertEqual(work.thread, "submitter")
                processes.add(work.process)
            self.assertEqual(found, {(path, rings[ring]): jobs for path, ring, jobs, _ in PATHS})
            self.assertEqual(len(processes), 2)

    def test_stacks_without_frame_pointers_are_complete(self):
        for _, rings, profile in self.profiles(".whole"):
            found = collections.Counter()
            for work, numbers in self.with_thread(profile):
                names = profile.frames(work.ustack)
                if "warm_up" not in names and names[0] != "[truncated]":
                    self.assertEqual(names[0], "_start")
                    found[tuple(names[names.index("main"):]), work.name] += numbers[0]
            self.assertEqual(found, {(path + ("gpu_ioctl", "ioctl"), rings[ring]): jobs // 2 for path, ring, jobs, _ in PATHS})

    def test_kernel_frames_lead_to_the_driver(self):
        """Jobs of processes have kernel frames from the system call to the driver function that queues the job."""
        # The lists lack functions that the compiler may have inlined.
        drivers = {"scheduler": ["queue_job", "drm_sched_entity_push_job"],
                   "xe": ["xe_exec_ioctl", "queue_job", "drm_sched_entity_push_job"],
                   "i915": ["i915_gem_do_execbuffer", "add_request"]}
        for section, _, profile in self.profiles(".whole"):
            text = profile.strings()
            frames = {row[0]: (row[1], text.get(row[2]), text.get(row[5])) for row in profile.of("FRAME")}
            stacks = {row[0]: [frames[element] for element in row[1:]] for row in profile.of("KSTACK")}
            ways = {work.kstack for work, _ in self.with_thread(profile)}
            self.assertEqual(len(ways), 1)
            stack = stacks[ways.pop()]
            self.assertEqual({kind for kind, _, _ in stack}, {"kernel"})
            names = [name for _, name, _ in stack]
            self.assertIn("do_syscall_64", names)
            inside = names[names.index("on_ioctl") + 1:]
            self.assertEqual([name for name in inside if name.split(".")[0] not in ("submit_job", "submit_request", "submit_from")], drivers[section])
            module = next(module for _, name, module in stack if name == "on_ioctl")
            self.assertEqual(module, f"[{GPUS[section].module}]")

    def test_python_frames_are_at_their_native_callers(self):
        """Checks the Python frames that lead to the C library's ioctl(), and the native frames between them."""
        forward = ("<module>", "train", "Model.forward", "by_fcntl")
        backward = ("<module>", "train", "Model.backward", "Model.backward.<locals>.<lambda>", "by_ctypes")
        if sys.version_info < (3, 11):  # before 3.11, names are not qualified
            forward, backward = ((*(name.rpartition(".")[2] for name in path),) for path in (forward, backward))
        for _, rings, profile in self.profiles(".python"):
            found = collections.Counter()
            for work, numbers in profile.measured("GPU"):
                kinds = [(frame.name, frame.kind) for frame in profile.stacks.get(work.ustack, [])]
                python = tuple(name for name, kind in kinds if kind == "python")
                if "train" in python:
                    self.assertEqual(kinds[0], ("_start", "native"))
                    self.assertEqual(kinds[-1], ("ioctl", "native"))
                    # by_ctypes() is called by sorted(), whose native frames separate two groups of Python frames.
                    between = [kind for _, kind in kinds]
                    runs = len([i for i, kind in enumerate(between) if kind == "python" and between[i - 1] != "python"])
                    if sys.version_info >= (3, 11):  # before 3.11, each Python frame has its own evaluation loop
                        self.assertEqual(runs, 2 if "by_ctypes" in python else 1, kinds)
                    found[python, work.name] += numbers[0]
            self.assertEqual(found, {(forward, rings[0]): 20, (backward, rings[1]): 10})

    def test_queue_time_and_run_time_are_separate(self):
        for _, rings, profile in self.profiles():
            meant = {(path[2], rings[ring]): ns for path, ring, _, ns in PATHS}
            waited = collections.Counter()
            jobs = collections.Counter()
            worked = collections.Counter()
            for work, (count, ns, _, _, _, queue_ns, _) in self.with_thread(profile):
                path = next(frame for frame in profile.frames(work.ustack) if frame in ("forward", "backward"))
                jobs[path, work.name] += count
                worked[path, work.name] += ns
                waited[path, work.name] += queue_ns - ns
            for key, ns in worked.items():
                # The hardware holds several jobs of a ring at once, so a job's time begins at the end of the previous
                # job. On a busy machine some ends are seen late, but not all.
                self.assertGreater(ns / jobs[key], 0.9 * meant[key], key)
            # All jobs are queued within some milliseconds, so a job waits for most of the jobs before it.
            self.assertGreater(waited["forward", rings[0]], 0)
            self.assertGreater(waited["backward", rings[0]], 0)

    def test_the_device_has_the_name_of_the_card(self):
        for section, _, profile in self.profiles():
            text = profile.strings()
            self.assertEqual([(text[row[1]], text[row[3]], text[row[4]]) for row in profile.of("DEVICE")],
                             [GPUS[section].device])

    def test_streams_are_the_exec_queues_and_contexts(self):
        wanted = {"scheduler": None, "xe": "exec queue {}, VM 5", "i915": "context {}"}
        for section, rings, profile in self.profiles():
            streams = {(work.name, work.stream) for work, _ in self.with_thread(profile)}
            said = [value for key, values in profile.meta().items() if ".drm.device" in key for value in values]
            if wanted[section] is None:
                self.assertEqual(len(streams), 2)  # one stream per ring, shared by both processes
                self.assertEqual(said, [])
                continue
            self.assertEqual(streams, {(rings[0], 1), (rings[1], 2)})
            self.assertEqual(sorted(re.sub(", client.*", "", text) for text in said),
                             sorted(wanted[section].format(queue) for queue in (1, 1, 2, 2)))


class Drm(Jobs, kernels.Kernels, rig.RuntimeTest):
    suite = SUITE
    more = MORE

    def test_recording_goes_on_if_a_card_loses_its_driver(self):
        said = self.said("gone")
        self.assertIn("unbound", said)
        self.assertIn("status 0", self.sections["gone"])
        self.assertIn(self.one_submitter(), said)
        self.assertIn("lost nothing", said)
        self.assertIn("fakegpu.0", said)

    def test_a_job_that_never_ends_is_counted(self):
        said = self.said("hung")
        self.assertIn("status 0", self.sections["hung"], said)
        self.assertRegex(said, r"(?s)LOST unfinished 1\b.*\b1 launch, 0 GPU records")

    def one_submitter(self):
        jobs = JOBS // 2 + self.of_clients("scheduler", 1)
        return f"{jobs} launches, {jobs} GPU records"

    def test_other_processes_are_not_recorded(self):
        self.assertIn("status 0", self.sections["others"], self.said("others"))
        self.assertIn("launched no GPU work that --backend drm records", self.said("others"))

    def test_a_recorder_in_a_pid_namespace_records_its_own_processes(self):
        self.assertIn(self.one_submitter(), self.said("namespace"))

    def test_a_running_process_and_its_children_can_be_recorded(self):
        said = self.said("attached")
        self.assertIn(self.one_submitter(), said)
        self.assertIn("coverage 100.00%, lost nothing", said)

    def test_a_set_user_id_program_is_not_read_for_an_earlier_job_of_its_process(self):
        with open(self.profile_path, "w", encoding="utf-8") as file:
            file.write("\n".join(self.sections["setuid.profile"]))
        profile = rig.Profile(self.profile_path)
        self.assertEqual([count for _, (count, *_) in profile.measured("GPU")], [1], self.said("setuid"))
        self.assertEqual([text for text in profile.strings().values() if "suid" in text], [])

    def test_the_exec_queues_of_other_processes_do_not_evict_those_of_recorded_ones(self):
        self.assertIn("0 queues are missing", self.sections["evicted"], self.said("evicted"))
        self.assertEqual(len(re.findall(r"exec queue \d+, VM 5", self.said("evicted.profile"))), 2)

    def test_jobs_that_die_with_their_process_are_counted(self):
        said = self.said("killed")
        done = int(re.search(r"30 launches \(\d+ FAILED\), (\d+) GPU records", said).group(1))
        self.assertGreater(done, 0)
        self.assertLess(done, 30)
        self.assertIn("lost nothing", said)  # jobs that never ran are not lost
        self.assertRegex(said, rf'coverage .*what="?failed"? count={30 - done}\b')
        self.assertRegex(said, "target: signal 9")

    def test_a_user_without_rights_gets_a_hint(self):
        said = self.said("user")
        self.assertIn("status 1", self.sections["user"], said)
        self.assertRegex(said, "--backend drm is impossible here: .*(not permitted|denied)")
        self.assertIn("hint: run gpuprof as root", said)


# OTHER_SUITES is, for example, "bookworm sid".
for other in OTHER_SUITES:
    globals()[f"On_{other}"] = type(f"On_{other}", (Jobs, rig.RuntimeTest), {"suite": other, "more": ""})

if __name__ == "__main__":
    rig.main()
