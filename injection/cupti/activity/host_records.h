// Records of CUPTI that are no GPU work: memory that is allocated and freed, and what unified memory does by itself.
#pragma once

#include <cstdint>

#include "cupti/activity/records.h"

namespace gpuprof::injection::cupti {

// A time of CUPTI's on CLOCK_MONOTONIC; 0 stays 0.
uint64_t to_monotonic(uint64_t time);

void emit_memory(const MemoryRecord& record);
void emit_unified_memory(const UnifiedMemoryRecord& record);

// Asks for page faults and migrations of unified memory, once. Only when cuInit is done: from a thread of ours, or at
// the end of the call that allocates the first of it. Most machines without it refuse; META "cupti.unified_memory"
// tells.
void enable_unified_memory();

}  // namespace gpuprof::injection::cupti
