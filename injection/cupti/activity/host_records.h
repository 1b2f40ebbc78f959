// Handles CUPTI records that are not GPU work: memory allocations and frees, and unified memory.
#pragma once

#include <cstdint>

#include "cupti/activity/records.h"

namespace gpuprof::injection::cupti {

// Converts a CUPTI time to CLOCK_MONOTONIC. Returns 0 for 0, which means "unknown".
uint64_t to_monotonic(uint64_t time);

void emit_memory(const MemoryRecord& record);
void emit_unified_memory(const UnifiedMemoryRecord& record);

// Requests CUPTI's records of unified memory (page faults, migrations). Call it once after cuInit: on a library thread,
// or at the end of the first call that allocates unified memory. On most machines whose GPUs have no unified memory,
// CUPTI refuses. META "cupti.unified_memory" reports the result.
void enable_unified_memory();

}  // namespace gpuprof::injection::cupti
