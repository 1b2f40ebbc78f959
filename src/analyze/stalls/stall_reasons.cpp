#include "analyze/stalls/stall_reasons.h"

#include <algorithm>
#include <array>

namespace gpuprof::analyze {
namespace {

constexpr std::string_view kNotIssued = "_not_issued";

constexpr std::array kReasons = {
    // On NVIDIA GPUs, a stall reason is the state of a warp.
    StallReason{"barrier", true, "Warps wait at __syncthreads() for others of their block.",
                "Usually the others have more work before the barrier, or blocks are large.",
                "Try to balance the work between barriers, or use smaller blocks or fewer barriers."},
    StallReason{"branch_resolving", true, "Warps wait until the target of a branch is known.",
                "Usually there are many short branches or calls in a loop.",
                "Try to unroll loops, to inline, or to compute both sides and select."},
    StallReason{"dispatch_stall", true, "The scheduler chose an instruction, but the dispatcher could not accept it.",
                "Usually register banks or other resources of the SM are in conflict.",
                "Try a different mix or order of instructions; the gain is usually small."},
    StallReason{"drain", true, "Warps that have ended wait until their stores are written.",
                "Usually the kernel stores much data at its very end.",
                "Try to store data earlier, and to coalesce the stores."},
    StallReason{
        "imc_miss", true, "Warps wait for a constant that is not in the immediate constant cache.",
        "Usually the threads of a warp read constants at different indexes, or constants are read for the first time.",
        "Try the same index for all threads of a warp, or shared memory for tables."},
    StallReason{"lg_throttle", true, "Warps wait until the queue for global and local memory has a free entry.",
                "Usually there are many small loads or stores, or registers spill to local memory.",
                "Try fewer and wider accesses (float4), and look for spills (-Xptxas -v)."},
    StallReason{
        "long_scoreboard", true, "Warps wait for data from global, local, surface or texture memory.",
        "Usually data comes from far away, accesses are not coalesced, or too few warps hide the latency.",
        "Try to coalesce, to keep data in shared memory or registers, to load earlier, or to raise the occupancy."},
    StallReason{"math_pipe_throttle", true, "Warps wait for an arithmetic pipe that is busy.",
                "Usually that pipe limits the kernel, for example with double precision or integer divisions.",
                "Try cheaper instructions, lower precision, tensor cores, or other pipes at the same time."},
    StallReason{"membar", true, "Warps wait at a memory fence.",
                "Usually __threadfence() or atomics with ordering follow stores that are still under way.",
                "Try narrower fences (_block), or fewer of them."},
    StallReason{"mio_throttle", true,
                "Warps wait until the queue for shared memory and special functions has a free entry.",
                "Usually there are many shared memory accesses, shuffles or special functions in a row.",
                "Try wider shared memory accesses, fewer shuffles, or arithmetic between them."},
    StallReason{"misc", true, "Warps wait for a rare reason that has no name of its own.", "", ""},
    StallReason{"no_instructions", true, "Warps wait for their next instructions.",
                "Usually the code is larger than the instruction cache, jumps far, or the kernel is very short.",
                "Try less unrolling and inlining, and longer kernels."},
    StallReason{"not_selected", false, "Warps were ready, and the scheduler chose another one.",
                "More warps are ready than the SM can issue from. This is not a loss.",
                "Try more registers per thread, even at a lower occupancy."},
    StallReason{"selected", false, "Warps issued an instruction: this is work, not waiting.", "", ""},
    StallReason{"short_scoreboard", true, "Warps wait for shared memory, special functions or other units near the SM.",
                "Usually shared memory has bank conflicts, or its results are needed at once.",
                "Try to pad shared arrays against conflicts, and to put independent work between load and use."},
    StallReason{"sleeping", true, "Warps sleep by __nanosleep().",
                "Usually the warps poll for another block or the host.", "Try shorter sleeps, or a hardware barrier."},
    StallReason{"tex_throttle", true, "Warps wait until the texture queue has a free entry.",
                "Usually there are many texture, surface or uncoalesced accesses in a row.",
                "Try fewer or wider accesses, or global loads for some of them."},
    StallReason{"wait", true, "Warps wait for the fixed latency of their own arithmetic.",
                "Usually each instruction needs the result of the one before it.",
                "Try independent work in each thread (unrolling), or more warps."},
    StallReason{"warpgroup_arrive", true, "Warps wait for their warp group or for its tensor core instruction (wgmma).",
                "Usually tiles are not loaded fast enough, or the tensor cores are busy, which is good.",
                "Try a deeper pipeline of loads (TMA), or larger tiles."},
    // On Intel GPUs, a stall reason is the state of an EU thread.
    StallReason{"active", false, "Threads executed an instruction: this is work, not waiting.", "", ""},
    StallReason{"control", true, "Threads wait for a branch or another change of control flow.",
                "Usually the code diverges, or loops are short.", "Try fewer branches, or unrolled loops."},
    StallReason{"pipestall", true, "Threads wait for a pipeline of the EU that is busy, or for their operands.",
                "Usually many instructions need one pipe, or registers are in conflict.",
                "Try lower precision, cheaper mathematics, or a mix that uses other pipes."},
    StallReason{"send", true, "Threads wait until a send message to memory or another unit is accepted.",
                "Usually there are more messages than the unit can accept.",
                "Try block loads, or fewer and wider accesses."},
    StallReason{"dist_acc", true, "Threads wait for an earlier instruction in the pipeline, or for the accumulator.",
                "Usually each instruction needs the result of the one before it.",
                "Try independent work in each thread."},
    StallReason{"sbid", true, "Threads wait for data that a send message asked for: memory, samplers, shared memory.",
                "Usually memory latency is not hidden.",
                "Try to load earlier, to use shared local memory (SLM), to coalesce accesses, or to run more threads."},
    StallReason{"sync", true, "Threads wait at a barrier, a fence or another synchronization.",
                "Usually threads of a work-group have different amounts of work.",
                "Try to balance the work, or use smaller work-groups or fewer barriers."},
    StallReason{"inst_fetch", true, "Threads wait for their next instructions.",
                "Usually the code is larger than the instruction cache, or jumps far.",
                "Try less unrolling and inlining."},
    StallReason{"other", true, "Threads wait for a rare reason that has no name of its own.", "", ""},
    StallReason{"tdr", true, "Threads wait for another thread that they depend on (thread dependency register).", "",
                ""},
};

}  // namespace

const StallReason* stall_reason(std::string_view word) {
  if (word.ends_with(kNotIssued)) {
    word.remove_suffix(kNotIssued.size());
  }
  const auto* const found =
      std::find_if(kReasons.begin(), kReasons.end(), [word](const StallReason& reason) { return reason.word == word; });
  return found == kReasons.end() ? nullptr : found;
}

}  // namespace gpuprof::analyze
