// The mock CUPTI's activity side: work that is under way, buffers of the client, and the threads that hand them back.
#pragma once

#include <cupti_activity.h>

#include <cstdint>

#include "mock_gpu.h"

namespace gpuprof::mock {

void set_buffer_callbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);
// What is added to CLOCK_MONOTONIC to get the times in records.
void set_clock_offset(int64_t offset_ns);
// Whether kernel records tell when they were queued and submitted.
void set_latency(bool on);
void add_op(const Op& op);
void add_memory(const MemoryOp& op);
void add_managed(const ManagedOp& op);
void flush_ops(bool forced);
// Detached: what has not been delivered never is.
void forget_ops();
uint64_t take_dropped();
// Size of a record of this kind; 0 for kinds that the mock does not make.
size_t record_bytes(CUpti_ActivityKind kind);
CUpti_ActivityKind activity_kind(OpKind kind);

// The client did what the real library would crash or corrupt memory on.
[[noreturn]] void violation(const char* text);

}  // namespace gpuprof::mock
