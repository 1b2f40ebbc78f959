"""Rows 1 and 2: every kind of GPU work, and CUDA graphs node by node."""

import re

import platforms
from measure import Skip, require, require_equal
from registry import row


def recorded(matrix, program, *options):
    """Records a program without losses, and checks it against everything that the program printed."""
    recording = matrix.record(program, *options)
    recording.check_conserved()
    recording.check_clean(matrix.stacks)
    recording.check_expectations(matrix.stacks)
    return recording


@row(1, "launch-variants")
def launch_variants(matrix):
    """Each kind of kernel launch is at its own site. A refused launch counts as failed and has no work."""
    recording = recorded(matrix, matrix.platform.variants())
    return f"{len(recording.expect)} known answers"


@row(1, "call-sites")
def call_sites(matrix):
    matrix.need_stacks()
    recording = recorded(matrix, matrix.platform.sites())
    require(recording.site_ns("solve") > 2 * recording.site_ns("assemble"), "solve's kernel is four times as long")


@row(1, "module-churn")
def module_churn(matrix):
    """Modules and libraries are loaded and unloaded: each record has the name of its kernel."""
    recording = recorded(matrix, matrix.platform.modules())
    return f"{recording.profile.end()['gpu_records']} records of {len(recording.expect) - 5} names"


@row(1, "module-churn-old-cupti", only="mock")
def module_churn_old_cupti(matrix):
    """If CUPTI does not report changed graph nodes, kernel names that may be wrong are left out and counted."""
    program = matrix.platform.modules()
    recording = matrix.record(program, env={"MOCK_CUPTI_FAULTS": "no_node_updates"})
    recording.check_conserved()
    unknown = recording.kernels("[kernel name not known]")
    require_equal(recording.profile.losses().get("kernel_name"), unknown, "kernels whose name is counted as lost")
    expected = {key.partition(".")[2]: count for key, count in recording.expect.items() if key.startswith("kernel.")}
    missing = {name: count - recording.kernels(name) for name, count in expected.items()}
    require(min(missing.values()) >= 0, f"wrong names: {missing}")
    require_equal(sum(missing.values()), unknown, "kernels without their name")
    return f"{unknown} of {recording.profile.end()['gpu_records']} names not known"


@row(1, "device-launches")
def device_launches(matrix):
    """Kernels launched by kernels have no records, and the profile says so."""
    recording = recorded(matrix, matrix.platform.device_launches())
    told = [key for key in recording.profile.meta() if key.endswith("note.device_launches")]
    require(told, "no META says that kernels launch kernels")
    require("can launch other kernels" in recording.stderr, "record does not say that kernels launch kernels")
    quiet = matrix.record(matrix.platform.variants())
    require(not any(key.endswith("note.device_launches") for key in quiet.profile.meta()),
            "META reports kernels that launch kernels, but this program has no such kernels")


@row(1, "copies-fills")
def copies(matrix):
    """Copies in each direction and fills have their bytes."""
    recording = recorded(matrix, matrix.platform.streams(kernels=5))
    moved = {}
    for work, numbers in recording.profile.measured("GPU"):
        if work.op.startswith("copy") or work.op == "fill":
            entry = moved.setdefault(work.op, [0, 0])
            entry[0] += numbers[0]
            entry[1] += numbers[6]
    for op in ("copy_htod", "copy_dtoh", "copy_dtod", "fill"):
        count, copied = moved[op]
        require_equal(copied, count * recording.expect["copy_bytes"], f"bytes of {count} {op}")


@row(1, "allocations")
def allocations(matrix):
    """cudaMalloc and cudaFree have the stack of their call and their bytes; a free has the bytes of its allocation."""
    matrix.need_stacks()
    recording = recorded(matrix, matrix.platform.streams(kernels=5))
    site = "allocate_and_free"
    require_equal(recording.site_bytes(site, "free"), recording.expect[f"site.{site}.bytes"], "bytes given back")


@row(1, "waits")
def waits(matrix):
    """The profile has the time of blocking calls, and `flame --weight wait` shows all of it."""
    matrix.need_stacks()
    recording = recorded(matrix, matrix.platform.streams())
    waited = sum(numbers[1] for work, numbers in recording.profile.measured("HOST") if work.op == "sync")
    require(waited > 0, "the blocking calls took no time")
    require_equal(recording.folded_total("--weight", "wait", "--unit", "ns"), waited, "flame --weight wait")


@row(1, "managed-memory", only="gpu")
def managed_memory(matrix):
    recording = matrix.record(matrix.platform.streams(kernels=1))
    if not recording.expect["managed"]:
        raise Skip("the device has no concurrent managed access")
    faults = {op: recording.count("HOST", lambda work, op=op: work.op == op)
              for op in ("fault_gpu", "fault_cpu", "migrate_htod", "migrate_dtoh")}
    if not any(faults.values()):
        told = {key: values for key, values in recording.profile.meta().items() if "unified" in key}
        require(bool(told), "no page faults or migrations, and no META that says why")
        raise Skip(f"CUPTI gives no unified-memory records here: {told}")
    require(faults["migrate_htod"] > 0, f"pages went to the GPU: {faults}")
    return str(faults)


@row(1, "everything", only="mock")
def everything(matrix):
    """One run uses all features of the mock driver; every count, byte and nanosecond is right."""
    recorded(matrix, matrix.platform.run(
        "--launches", 50, "--threads", 3, "--graph", 10, "--graph-nodes", 6, "--graph-replays", 5, "--graph-instances",
        2, "--capture-thread", "--clone-graph", "--update-graph", "--streams", 3, "--per-stream", 10, "--sync", 4,
        "--alloc", 5, "--managed", 2, "--variants", 7, "--fail", 3))


def python_with_torch(matrix, code):
    python = matrix.platform.torch()
    if python is None:
        raise Skip("python3 has no PyTorch that sees a GPU")
    return platforms.Program([python, "-c", code], lambda _: {})


TORCH_LIBRARIES = """
import torch
a = torch.randn(512, 512, device="cuda", dtype=torch.bfloat16)
x = torch.randn(8, 16, 64, 64, device="cuda")
convolution = torch.nn.Conv2d(16, 32, 3).cuda()
for _ in range(20):
    a = (a @ a) * 0.01
    convolution(x).sum().item()
"""


@row(1, "torch-libraries", only="gpu")
def torch_libraries(matrix):
    """Records launches from cuBLAS and cuDNN, which bring their own CUDA runtime."""
    recording = matrix.record(python_with_torch(matrix, TORCH_LIBRARIES))
    recording.check_conserved()
    recording.check_clean(matrix.stacks)
    names = {work.name for work, _ in recording.profile.measured("GPU") if work.op == "kernel"}
    require(any(re.search("gemm|nvjet|cutlass|xmma", name) for name in names), f"no matrix product in {names}")
    require(any(re.search("conv|cudnn|implicit|xmma", name) for name in names), f"no convolution in {names}")


TRITON_KERNEL = """
import torch, triton
import triton.language as tl

@triton.jit
def add_one_by_triton(pointer, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(pointer + at, tl.load(pointer + at, at < size) + 1, at < size)

data = torch.zeros(4096, device="cuda")
for _ in range(100):
    add_one_by_triton[(4,)](data, 4096, BLOCK=1024)
assert float(data.sum()) == 409600
"""


@row(1, "triton", only="gpu")
def triton_kernels(matrix):
    """Records kernels that are compiled at run time and launched through the driver API."""
    path = matrix.path("triton") + ".py"  # triton reads the source of its kernels
    with open(path, "w", encoding="utf-8") as file:
        file.write(TRITON_KERNEL)
    python = matrix.platform.torch()
    if python is None:
        raise Skip("python3 has no PyTorch that sees a GPU")
    probe = matrix.start(platforms.Program([python, "-c", "import triton"], lambda _: {}))
    if probe.wait() != 0:
        raise Skip("python3 has no triton")
    recording = matrix.record(platforms.Program([python, path], lambda _: {}))
    recording.check_conserved()
    recording.check_clean(matrix.stacks)
    require_equal(recording.kernels("add_one_by_triton"), 100, "launches of the Triton kernel")


def check_graph_stacks(matrix, recording):
    """Checks launch and capture stacks of graph nodes: captured kernels keep their stacks through clone and update."""
    captured = [(work, numbers[0]) for work, numbers in recording.profile.measured("GPU") if work.flags & 1]
    require(captured, "no WORK is marked as a graph's node")
    # Nodes of a child graph run with ids that CUPTI has not reported before, so their capture stacks are unknown.
    places = {"captured": "capture_nodes", "updated": "capture_again", "added": "add_nodes", "inner": None}
    seen = dict.fromkeys(places, 0)
    for work, count in captured:
        name = next((name for name in places if re.search(rf"\b{name}\(|{name}P", work.name)), None)
        if name and places[name] is None:
            seen[name] += count
        elif name:
            require(recording.captured_in(work, places[name]),
                    f"{count} of {name}: capture stack {recording.profile.frames(work.capture)}, not {places[name]}()")
            require(not recording.captured_in(work, "replay_first"), "a capture stack holds the replay")
            seen[name] += count
    for name, count in seen.items():
        require_equal(count, recording.expect.get(f"kernel.{name}", 0), f"nodes of {name} with their capture stack")


@row(2, "graph-nodes")
def graph_nodes(matrix):
    """Nodes are captured on one thread and added by hand, cloned, instantiated twice, updated, and replayed on another
    thread."""
    matrix.need_stacks()
    recording = recorded(matrix, matrix.platform.graphs())
    check_graph_stacks(matrix, recording)
    whole = recording.folded_total("--unit", "ns")
    for choice in ("both", "launch", "capture"):
        require_equal(recording.folded_total("--unit", "ns", "--graph", choice), whole, f"flame --graph={choice}")
    text = recording.gpuprof("flame", "-i", recording.path, "--graph", "capture")
    require("capture_nodes" in text and "add_nodes" in text, "flame --graph=capture shows where nodes were captured")
    text = recording.gpuprof("flame", "-i", recording.path, "--graph", "launch")
    require("replay_first" in text and "capture_nodes" not in text, "flame --graph=launch shows the launches alone")


@row(2, "conditional-nodes")
def conditional_nodes(matrix):
    """In bodies of WHILE, IF and SWITCH nodes, each kernel belongs to the launch that ran it."""
    matrix.need_stacks()
    recording = recorded(matrix, matrix.platform.conditional())
    return f"{recording.expect['kernel.looped']} kernels in loops"


@row(2, "conditional-left-out")
def conditional_left_out(matrix):
    """Kernels in conditional bodies of launches outside the recorded range are not recorded."""
    recording = matrix.record(matrix.platform.conditional(), "--nvtx-range", "no such range")
    coverage = recording.profile.coverage()
    require_equal(coverage.get("outside_range", 0), recording.expect["records"], "records outside of the range")
    require_equal(recording.profile.end()["gpu_records"], 0, "records inside of the range")


@row(2, "graph-exact-times")
def graph_exact_times(matrix):
    """Many nodes and replays, without stacks, have exact counts and sums."""
    recording = matrix.record(matrix.platform.graphs(nodes=50, replays=200), "--stacks=none")
    recording.check_conserved()
    recording.check_expectations(stacks=False)
    return f"{recording.profile.end()['gpu_records']} node records"


@row(2, "graph-whole")
def graph_whole(matrix):
    """--graphs=whole makes one record per graph launch, and the profile says so."""
    recording = matrix.record(matrix.platform.graphs(), "--graphs=whole")
    recording.check_conserved()
    require_equal(recording.ops("graph"), recording.expect["graph_launches"], "graph launches")
    require_equal(recording.kernels("captured"), 0, "kernels of single nodes")
    meta = [f"{key}={value}" for key, values in recording.profile.meta().items() for value in values]
    require(any("graph" in entry and "whole" in entry for entry in meta), "META says that graphs were taken whole")


@row(2, "graph-without-capture")
def graph_attached_late(matrix):
    """If the recording begins after the capture, all graph nodes are counted and flagged as nodes, but have no capture stacks."""
    matrix.need_stacks()
    go = matrix.path("go")
    program = matrix.platform.graphs(go=go, child=False)
    target = matrix.start(program)
    target.wait_for_line("replaying")
    recording = matrix.attach_until_end(program, target, go)
    recording.check_conserved(vendor=False)
    nodes = [(work, numbers[0]) for work, numbers in recording.profile.measured("GPU") if work.flags & 1]
    before = [work for work, _ in nodes if recording.on_stack(work, "replay_first")]
    require(before, f"no nodes of replay_first(): {recording.stderr[-300:]}")
    require(all(work.capture == "0" for work in before), "a capture stack of a graph captured before the recording")
    total = sum(count for _, count in nodes)
    require_equal(total, recording.expect["records"], "node records")
