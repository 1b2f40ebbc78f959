/* Appends the kernel stack to a user stack. */
#ifndef GPUPROF_STACK_OF_KERNEL_H
#define GPUPROF_STACK_OF_KERNEL_H

#include "stack_walk.h"

static long add_kernel_frame(__u32 index, struct slot_context* context) {
  struct slot* slot = context->slot;
  __u32 at = slot->stack.count + index;
  if (index >= slot->stack.kernel || at >= WORDS + GPUPROF_BPF_KERNEL_FRAMES) {
    return 1;
  }
  slot->walk.id = mix(slot->walk.id, slot->words[at]);
  return 0;
}

/* Appends the kernel stack to the words of the user stack. */
static __always_inline void add_kernel_stack(void* ctx, struct slot* slot) {
  __u32 count = slot->stack.count;
  if (count > WORDS) { /* needed by the verifier */
    return;
  }
  long bytes = bpf_get_stack(ctx, &slot->words[count], GPUPROF_BPF_KERNEL_FRAMES * sizeof(__u64), 0);
  if (bytes <= 0) {
    return;
  }
  slot->stack.kernel = (__u32)bytes / sizeof(__u64);
  struct slot_context context = {slot};
  bpf_loop(GPUPROF_BPF_KERNEL_FRAMES, add_kernel_frame, &context, 0);
  slot->walk.id |= !slot->walk.id; /* 0 would mean that the stack was not captured */
}

#endif
