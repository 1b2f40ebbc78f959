/*
 * Captures CPU stacks of GPU launches by frame pointers, without tables. See stacks.bpf.c for complete stacks.
 *
 * on_launch_probe runs at gpuprof_launch_probe(correlation, source, range) in an injection library, on the launching
 * thread. The stack carries the launch's correlation id, so nothing is matched by time. Bits of the correlation id mark
 * graph nodes, and calls that wait or allocate. on_launch_function runs at a launch function (cudaLaunchKernel,
 * clEnqueueNDRangeKernel, ...) of a process without injection library, and counts launches.
 *
 * A stack is sent once. Each later launch with this stack costs one 48-byte event. Events do not wake the recorder.
 */
/* The order matters: bpf_helpers.h uses types of vmlinux_min.h without including it. */
/* clang-format off */
#include "vmlinux_min.h"
#include <bpf/bpf_helpers.h>
/* clang-format on */

#include "frame_walk.h"
#include "launch_events.h"
#include "launch_function.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static void on_launch(struct pt_regs* ctx, const struct launch* launch) {
  __u32 pid = launch->ids >> 32;
  send_name(pid, (__u32)launch->ids);
  __u64 stack = 0;
  struct scratch* scratch = take_slot_of(&slots);
  if (scratch) {
    stack = stack_id(ctx, scratch, pid, pid, 1);
    release_slot(scratch);
  } else {
    count_loss(GPUPROF_BPF_LOST_READ);
  }
  send_launch(launch, stack);
}

SEC("uprobe")
int on_launch_probe(struct pt_regs* ctx) {
  struct launch launch;
  __u32 source = (__u32)GPUPROF_ARG2(ctx);
  /* Source 0 is reserved for on_launch_function. */
  if (source != 0 && begin_launch(&launch, source, GPUPROF_ARG1(ctx), (__u32)GPUPROF_ARG3(ctx))) {
    on_launch(ctx, &launch);
  }
  return 0;
}

SEC("uprobe")
int on_launch_function(struct pt_regs* ctx) {
  struct launch launch;
  if (begin_counted(&launch, bpf_get_attach_cookie(ctx))) {
    on_launch(ctx, &launch);
  }
  return 0;
}
