// The mock CUPTI's activity records: work in progress, the client's buffers, and the threads that return them.
#pragma once

#include <cupti_activity.h>

#include <cstdint>

#include "mock_gpu.h"

namespace gpuprof::mock {

void set_buffer_callbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);
// Sets the offset that is added to CLOCK_MONOTONIC to get the times in records.
void set_clock_offset(int64_t offset_ns);
// Sets whether kernel records hold the queued and submitted times.
void set_latency(bool on);
void add_op(const Op& op);
void add_memory(const MemoryOp& op);
void add_managed(const ManagedOp& op);
void flush_ops(bool forced);
// Drops work whose records have not been delivered. Called on detach.
void forget_ops();
uint64_t take_dropped();
// Returns the size of a record of this kind, or 0 for kinds that the mock does not make.
size_t record_bytes(CUpti_ActivityKind kind);
CUpti_ActivityKind activity_kind(OpKind kind);

// Aborts: the client did something on which the real library would crash or corrupt memory.
[[noreturn]] void violation(const char* text);

}  // namespace gpuprof::mock
