/*
 * Captures complete CPU stacks of GPU launches: native frames by unwind tables, with the Python frames between them.
 *
 * on_launch_probe runs at gpuprof_launch_probe(correlation, source, range, python) in an injection library, on the
 * launching thread. The stack carries the launch's correlation id, so nothing is matched by time. Bits of the
 * correlation id mark graph nodes, and calls that wait or allocate. on_launch_function runs at a launch function
 * (cudaLaunchKernel, clEnqueueNDRangeKernel, ...) of a process without injection library, and counts launches.
 *
 * A stack is sent once. Each later launch with this stack costs one 48-byte event. Events do not wake the recorder.
 * The programs are loaded as sleepable if the kernel supports that.
 */
/* The order matters: bpf_helpers.h uses types of vmlinux_min.h without including it. */
/* clang-format off */
#include "vmlinux_min.h"
#include <bpf/bpf_helpers.h>
/* clang-format on */

#include "launch_events.h"
#include "launch_function.h"
#include "loader.h"
#include "stack_walk.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Sends a launch and its stack. `process`: null if the recorder has not registered the process. */
static __always_inline void on_launch(struct pt_regs* ctx, const struct launch* launch,
                                      const struct gpuprof_bpf_process* process, __u64 thread) {
  __u32 pid = launch->ids >> 32;
  send_name(pid, (__u32)launch->ids);
  __u64 stack = 0;
  struct slot* slot = take_slot_of(&slots);
  if (slot) {
    struct walk_from from = {pid, 1, pid, thread};
    walk_stack(ctx, slot, &from, process);
    stack = stack_id(slot, pid);
    release_slot(slot);
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
  if (source == 0 || !begin_launch(&launch, source, GPUPROF_ARG1(ctx), (__u32)GPUPROF_ARG3(ctx))) {
    return 0;
  }
  __u32 pid = launch.ids >> 32;
  const struct gpuprof_bpf_process* process = bpf_map_lookup_elem(&processes, &pid);
  /* The probe is in every process that maps the library. Processes that are not recorded are ignored: they could
   * make a walk sleep arbitrarily long. */
  if (process) {
    on_launch(ctx, &launch, process, GPUPROF_ARG4(ctx));
  }
  return 0;
}

SEC("uprobe")
int on_launch_function(struct pt_regs* ctx) {
  struct launch launch;
  if (begin_counted(&launch, bpf_get_attach_cookie(ctx))) {
    __u32 pid = launch.ids >> 32;
    on_launch(ctx, &launch, bpf_map_lookup_elem(&processes, &pid), 0);
  }
  return 0;
}
