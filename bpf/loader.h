/* Observes what a process loads and unloads. The dynamic loader calls an empty function for debuggers at each
 * change; on_loader is attached to that function. Include after mappings.h. */
#ifndef GPUPROF_LOADER_H
#define GPUPROF_LOADER_H

#include "mappings.h"

/* Values of r_state in the loader's struct r_debug. The probe's cookie is r_state's address relative to the probe. */
#define LOADER_CONSISTENT 0
#define LOADER_ADDS 1
#define LOADER_DELETES 2

/* Runs before and after the loader changes the set of loaded libraries. */
SEC("uprobe")
int on_loader(struct pt_regs* ctx) {
  __u32 pid = ids_of_thread() >> 32;
  __u32 state = 0;
  if (!bpf_map_lookup_elem(&processes, &pid) ||
      read_user(&state, sizeof(state), GPUPROF_INSTRUCTION_POINTER(ctx) + bpf_get_attach_cookie(ctx)) != 0) {
    return 0;
  }
  struct unload* last = bpf_map_lookup_elem(&unloads, &pid);
  struct unload now = {last ? last->time_ns : 0, 1, 0};
  if (state == LOADER_ADDS) {
    now.told = last ? last->told : 1;
    now.loading = 1;
  } else if (state == LOADER_DELETES) {
    now.time_ns = UNLOADING;
  } else if (last && last->loading) {
    now.told = last->told;
    send_loader_event(pid); /* The event is sent at the end of a load, because the new libraries are mapped only now. */
  } else {
    /* An unload has ended, or dlmopen() has changed another namespace, whose state is in another r_debug. */
    now.time_ns = bpf_ktime_get_ns();
    now.told = send_loader_event(pid);
  }
  bpf_map_update_elem(&unloads, &pid, &now, BPF_ANY);
  return 0;
}

#endif
