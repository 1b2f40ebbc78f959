"""Rows 11 and 12: other tools, CUPTI faults, and what a profile says about itself."""

import json
import os
import subprocess
import time

import platforms
import rig
from measure import Recording, Skip, require, require_between, require_equal
from registry import row


def with_faults(matrix, program, faults, *options, expect=0):
    return matrix.record(program, *options, expect=expect, env={"MOCK_CUPTI_FAULTS": faults})


@row(11, "another-subscriber", only="mock")
def another_subscriber(matrix):
    """With another CUPTI user, the program runs on and the profile says why it is empty."""
    recording = with_faults(matrix, matrix.platform.sites(100), "subscriber_conflict")
    require_equal(recording.profile.measured("GPU"), [], "GPU lines")
    require("another profiler uses CUPTI" in recording.stderr, recording.stderr)
    require_equal(recording.expect["records"], 300, "what the program did")


@row(11, "torch-profiler", only="gpu")
def torch_profiler(matrix):
    """torch.profiler inside the target gets no CUDA rows while gpuprof records, and a message or META line says why."""
    python = matrix.platform.torch()
    if python is None:
        raise Skip("python3 has no PyTorch that sees a GPU")
    program = platforms.Program([python, platforms.TORCH_STEP, "--layers", "2", "--steps", "5", "--json",
                                 "--torch-profiler"])
    recording = matrix.record(program, timeout=300)
    recording.check_conserved()
    said = recording.stderr + json.dumps(recording.profile.meta())
    require("torch.profiler" in said or "another" in said or "subscriber" in said,
            f"nobody says that torch.profiler could not subscribe: {recording.stderr[-500:]}")


@row(11, "timestamp-callback-refused", only="mock")
def timestamps_refused(matrix):
    recording = with_faults(matrix, matrix.platform.sites(200), "refuse_timestamp_callback")
    recording.check_conserved()
    recording.check_expectations(matrix.stacks)
    require("offset" in recording.profile.meta().values().__repr__(), "META says how times were converted")


@row(11, "next-injection", only="mock")
def next_injection(matrix):
    """A library in the user's own CUDA_INJECTION64_PATH is called after gpuprof's."""
    library = os.environ.get("MOCK_NEXT_INJECTION", os.path.join(matrix.platform.mocks, "libmock_next_injection.so"))
    if not os.path.exists(library):
        raise Skip(f"no {library}")
    mark = os.path.join(matrix.folder, "called")
    recording = matrix.record(matrix.platform.sites(50), env={"CUDA_INJECTION64_PATH": library,
                                                              "MOCK_NEXT_MARK": mark})
    require(os.path.exists(mark), "the user's library was not called")
    recording.check_conserved()
    recording.check_expectations(matrix.stacks)


@row(11, "doctor")
def doctor(matrix):
    """doctor prints what this machine can do, as text and as JSON."""
    run = subprocess.run([rig.GPUPROF, "doctor", "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=60, check=False, env=matrix.environment(None))
    require_equal(run.returncode, 0, f"exit status: {run.stderr}")
    sections = json.loads(run.stdout)
    require_equal(sections["schema_version"], 2, "schema_version of what this test knows")
    require("backends" in sections and "rights" in sections, f"sections: {sorted(sections)}")
    states = {fact["name"]: fact["state"] for fact in sections["backends"]}
    if matrix.platform.name == "gpu":
        require_equal(states.get("cupti"), "ok", f"doctor on cupti: {sections['backends']}")


FAULTS = {
    # fault: (reason of the LOSS, how many of a hundred records are missing)
    "zero_timestamps=10": ("invalid_timestamp", 10),
    "reversed_timestamps=20": ("invalid_timestamp", 5),
    "drop_records=10": ("vendor_dropped", 10),
}


@row(11, "faults-counted", only="mock")
def faults_counted(matrix):
    """Each record that CUPTI spoils or drops is counted."""
    for fault, (reason, percent) in FAULTS.items():
        recording = with_faults(matrix, matrix.platform.sites(500), fault)
        recording.check_conserved()
        launched = recording.expect["records"]
        lost = recording.profile.losses()[reason]
        require_equal(lost, launched * percent // 100, f"{fault}: LOSS {reason}")
        require_equal(recording.profile.end()["gpu_records"], launched - lost, f"{fault}: records")


def define_harmless():
    """Defines rows for CUPTI behaviour that must have no effect."""
    faults = ("threads", "out_of_order", "refuse_latency", "refuse_unified_memory", "first_correlation=4294967200",
              "repeat_correlation=1000")
    for fault in faults:
        def harmless(matrix, fault=fault):
            # With pauses, the record of a correlation id arrives before the id is reused.
            gap = ("--gap-us", 6000) if fault.startswith("repeat") else ()
            recording = with_faults(matrix, matrix.platform.run("--launches", 500, "--kernels-only", *gap), fault)
            recording.check_conserved()
            recording.check_clean(matrix.stacks)
            recording.check_expectations(matrix.stacks)

        row(11, "harmless-" + fault.split("=")[0].replace("_", "-"), only="mock")(harmless)


define_harmless()


@row(11, "insufficient-privileges", only="mock")
def insufficient_privileges(matrix):
    """If the driver denies CUPTI to this user, the program runs on, and the message says what to do."""
    recording = with_faults(matrix, matrix.platform.sites(100), "insufficient_privileges")
    require_equal(recording.profile.measured("GPU"), [], "GPU lines")
    require_equal(recording.expect["records"], 300, "what the program did")
    require("CUPTI error 35" in recording.stderr and "root" in recording.stderr, recording.stderr)


@row(11, "memory-records-refused", only="mock")
def memory_refused(matrix):
    """If CUPTI refuses allocation records, everything else is recorded, and the profile says what is missing."""
    recording = with_faults(matrix, matrix.platform.sites(100), "refuse_memory")
    recording.check_conserved()
    recording.check_clean(matrix.stacks)
    require_equal(recording.profile.end()["gpu_records"], recording.expect["records"], "records")
    require(any("memory" in key or "alloc" in key for key in recording.profile.meta()), "META says nothing of it")


@row(11, "flush-hangs", only="mock")
def flush_hangs(matrix):
    """A flush that never returns delays neither the program nor the recorder."""
    begin = time.monotonic()
    recording = with_faults(matrix, matrix.platform.sites(100), "hang_flush")
    require(time.monotonic() - begin < 40, f"took {time.monotonic() - begin:.1f} s")
    coverage = recording.profile.coverage()
    require_equal(coverage.get("launches", 0), recording.expect["launches"], "launches seen")


@row(11, "out-of-memory", only="mock")
def out_of_memory(matrix):
    recording = with_faults(matrix, matrix.platform.sites(100), "out_of_memory")
    require_equal(recording.profile.measured("GPU"), [], "GPU lines")
    require("CUPTI" in recording.stderr or "cupti" in recording.stderr, recording.stderr)


def all_there(recorder):
    """Returns whether the unfinished profile has all the work that mock_cuda_app has printed."""
    said = recorder.stdout()
    if not said.endswith("\n") or not os.path.exists(recorder.path):
        return False
    recording, did = Recording(recorder.path, None, "", "", 0), json.loads(said)
    host = {op: recording.count("HOST", lambda work, op=op: work.op == op) for op in did["host"]}
    return (recording.count("GPU", lambda _: True) == did["total_ops"] and
            host == {op: entry["count"] for op, entry in did["host"].items()})


def define_endings():
    """Defines rows in which mock_cuda_app ends in various ways, after all its work is in the profile."""
    for ending, status in (("return", 0), ("_exit", 7), ("abort", -6), ("segv", -11), ("kill", -9), ("exec", 0),
                           ("reset", 0)):
        def check(matrix, ending=ending, status=status):
            end = matrix.path("end")
            program = matrix.platform.run("--launches", 100, "--kernels-only", "--until", end, "--ending", ending)
            recorder = matrix.start_recording(program)
            recorder.wait_for(lambda: all_there(recorder), "line of all that the program did")
            with open(end, "w", encoding="ascii"):
                pass
            require_equal(recorder.wait(), status, f"exit status: {recorder.stderr()[-500:]}")
            recording = recorder.recording()
            recording.check_conserved(vendor=False)
            recording.check_expectations(matrix.stacks)
            recording.check_clean(matrix.stacks)

        row(11, f"mock-ending-{ending.strip('_')}", only="mock")(check)


define_endings()


@row(11, "descriptors-closed", only="mock")
def descriptors_closed(matrix):
    """Records a program that closes all descriptors after cuInit."""
    recording = matrix.record(matrix.platform.run("--launches", 100, "--close-fds"))
    recording.check_conserved()
    recording.check_expectations(matrix.stacks)


@row(11, "library-unloaded", only="mock")
def library_unloaded(matrix):
    """Records a program that loads CUDA, uses it and unloads it."""
    app = os.path.join(matrix.platform.mocks, "mock_dlclose_app")
    if not os.path.exists(app):
        raise Skip(f"no {app}")
    recording = matrix.record(platforms.Program([app], json.loads))
    recording.check_conserved(vendor=False)
    require_equal(recording.profile.end()["launches"], recording.expect["launches"], "launches")
    require_equal(recording.profile.end()["gpu_ns"], recording.expect["total_ns"], "GPU ns")


@row(11, "fork-after-cuda", only="mock")
def fork_after_cuda(matrix):
    """Children that a CUDA process makes by fork or the bare system call do not hang, and their CUDA calls are not recorded."""
    recording = matrix.record(matrix.platform.run("--launches", 100, "--fork"))
    recording.check_conserved()
    recording.check_expectations(matrix.stacks)


@row(12, "clean-footer")
def clean_footer(matrix):
    """A recording without losses has a footer that adds up, and report and flame print no warning."""
    recording = matrix.record(matrix.platform.sites(100))
    recording.check_conserved()
    recording.check_clean(matrix.stacks)
    coverage = recording.profile.coverage()
    require("launches" in coverage and "matched" in coverage, f"COVERAGE {coverage}")
    for command in (["report"], ["flame"]):
        run = subprocess.run([rig.GPUPROF, *command, "-i", recording.path], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=60, check=False)
        require_equal((run.returncode, run.stderr), (0, ""), f"gpuprof {command[0]}")


@row(12, "unclean-footer", only="mock")
def unclean_footer(matrix):
    """record, report and flame print what is missing, and --min-coverage fails below its limit."""
    recording = with_faults(matrix, matrix.platform.sites(200), "drop_records=4")
    for command in (["report"], ["flame"]):
        run = subprocess.run([rig.GPUPROF, *command, "-i", recording.path], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=60, check=False)
        require_equal(run.returncode, 0, f"gpuprof {command[0]}: {run.stderr}")
        require(str(recording.profile.end()["lost"]) in run.stderr + run.stdout,
                f"gpuprof {command[0]} says nothing of {dict(recording.profile.losses())}: {run.stderr}")
    statuses = {limit: min_coverage(recording, limit) for limit in (50, 70, 80, 99)}
    require_equal([statuses[50], statuses[70]], [0, 0], f"status with --min-coverage below: {statuses}")
    require(statuses[80] != 0 and statuses[80] == statuses[99], f"status with --min-coverage above: {statuses}")
    require(statuses[80] not in (1, 2), f"a status of its own: {statuses}")
    status = with_faults(matrix, matrix.platform.sites(200), "drop_records=4", "--min-coverage", "99",
                         expect=None).status
    require_equal(status, statuses[99], "status of record --min-coverage")
    return f"statuses {statuses}"


def min_coverage(recording, limit):
    return subprocess.run([rig.GPUPROF, "flame", "--min-coverage", str(limit), "-i", recording.path],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False).returncode


@row(12, "every-prefix")
def every_prefix(matrix):
    """A profile that is cut anywhere is readable, and its folded sum never exceeds the complete profile's."""
    recording = matrix.record(matrix.platform.sites(100), "--timeline", "--latency")
    with open(recording.path, "rb") as file:
        data = file.read()
    header = data.index(b"\n") + 1
    cut = matrix.path("cut")
    whole = recording.folded_total("--unit", "ns")
    for size in range(header, len(data), max(1, len(data) // 25)):
        with open(cut, "wb") as file:
            file.write(data[:size])
        has_work = b"\nGPU;" in data[:data.rindex(b"\n", 0, size)]  # only complete lines count
        folded = rig.parse_folded(recording.gpuprof("flame", "-i", cut, "--unit", "ns",
                                                    expect=(0,) if has_work else (0, rig.NOTHING)))
        found = sum(value for _, value in folded)
        require_between(1 if has_work else 0, found, whole, f"folded ns of the first {size} bytes")
