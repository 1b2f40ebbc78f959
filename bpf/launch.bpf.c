/*
 * CPU stacks of GPU launches, by frame pointers. Needs no tables; see stacks.bpf.c for whole stacks.
 *
 * on_launch_probe runs at gpuprof_launch_probe(correlation, source, range) in an injection library, on the launching
 * thread: the stack carries its correlation id, nothing is matched by time. Graph nodes and calls that wait or allocate
 * come the same way, with a bit of their own in the correlation id. on_launch_function runs at a launch function
 * (cudaLaunchKernel, clEnqueueNDRangeKernel, ...) of a process without our library: counts only.
 *
 * A stack is sent once; a launch then costs one 48-byte event. The consumer polls (no wake-ups).
 */
/* The helpers' header uses the types and does not include them: this order. */
/* clang-format off */
#include "vmlinux_min.h"
#include <bpf/bpf_helpers.h>
/* clang-format on */

#include "frame_walk.h"
#include "launch_events.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static void on_launch(struct pt_regs* ctx, __u32 source, __u64 correlation, __u32 range) {
  struct launch launch;
  if (!begin_launch(&launch, source, correlation, range)) {
    return;
  }
  __u32 pid = launch.ids >> 32;
  send_name(pid, (__u32)launch.ids);
  __u64 stack = 0;
  struct scratch* scratch = take_slot_of(&slots);
  if (scratch) {
    stack = stack_id(ctx, scratch, pid, pid, 1);
    give_slot_back(scratch);
  } else {
    count_loss(GPUPROF_BPF_LOST_READ);
  }
  send_launch(&launch, stack);
}

SEC("uprobe")
int on_launch_probe(struct pt_regs* ctx) {
  if ((__u32)GPUPROF_ARG2(ctx) == 0) {
    return 0; /* source 0 means on_launch_function */
  }
  on_launch(ctx, (__u32)GPUPROF_ARG2(ctx), GPUPROF_ARG1(ctx), (__u32)GPUPROF_ARG3(ctx));
  return 0;
}

SEC("uprobe")
int on_launch_function(struct pt_regs* ctx) {
  on_launch(ctx, 0, bpf_get_attach_cookie(ctx), 0);
  return 0;
}
