/* Counts events of drm.bpf.c by enum gpuprof_drm_count. */
#ifndef GPUPROF_DRM_COUNTS_H
#define GPUPROF_DRM_COUNTS_H

#include "wire/drm_events.h"

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, GPUPROF_DRM_COUNTS);
  __type(key, __u32);
  __type(value, __u64);
} job_counts SEC(".maps");

static void count_job(__u32 what) {
  __u64* counter = bpf_map_lookup_elem(&job_counts, &what);
  if (counter) {
    __sync_fetch_and_add(counter, 1); /* Atomic, because an interrupt may run another program that counts. */
  }
}

#endif
