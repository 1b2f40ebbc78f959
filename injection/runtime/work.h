// Records of what a launch or call did. All but graph nodes look up what is known of their launch (launch_notes.h).
// Each fills in the header.
#pragma once

#include "wire/wire.h"

namespace gpuprof::injection {

// Dropped, and counted for gpu_op, where the launch was outside of options.nvtx_range. gpu_op may wait some
// milliseconds for space where `may_wait` (never on a launching thread).
void gpu_op(gpuprof_gpu_op op, bool may_wait);
void host_op(gpuprof_host_op op);

// HOST_OPs: a call of this thread that has waited for a device, and memory that was allocated or freed by a call of the
// thread `tid`. `correlation`: of the call's stack; `device`: UINT32_MAX for none.
void host_wait(uint64_t correlation, uint64_t start_ns, uint64_t end_ns, const char* function);
struct HostMemory {
  gpuprof_host_op_kind kind;
  const char* function;
  uint64_t bytes;
  uint32_t device;
};
void host_memory(const HostMemory& memory, uint64_t correlation, uint32_t tid);

void graph_node(gpuprof_graph_node node);
// After launch() of the same id: fills in the time, the thread and the flags, too.
void graph_launch(gpuprof_graph_launch launch);

// The last launch of this thread, as a call.
void call(gpuprof_call call);

}  // namespace gpuprof::injection
