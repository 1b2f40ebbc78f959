/* Chooses the processes in which a probe of a launch function counts. Include after launch_events.h. */
#ifndef GPUPROF_LAUNCH_FUNCTION_H
#define GPUPROF_LAUNCH_FUNCTION_H

#include "launch_events.h"

/* Children of the attached process whose launches are counted; key: pid in the recorder's namespace. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, GPUPROF_BPF_MAX_COUNTED);
  __type(key, __u32);
  __type(value, __u8);
} counted SEC(".maps");

/* Like begin_launch(). A probe with GPUPROF_BPF_CHILDREN in its cookie is in all processes of the machine that map the
 * file, so it ignores those that are not in the table. */
static __always_inline int begin_counted(struct launch* launch, __u64 cookie) {
  if (!begin_launch(launch, 0, cookie & ~(__u64)GPUPROF_BPF_CHILDREN, 0)) {
    return 0;
  }
  __u32 pid = launch->ids >> 32;
  return (cookie & GPUPROF_BPF_CHILDREN) == 0 || bpf_map_lookup_elem(&counted, &pid) != 0;
}

#endif
