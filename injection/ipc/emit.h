// Records that need nothing but the connection; those of launches and of their work are in runtime/. Nothing is
// written where there is no connection. What can not be written is dropped and counted.
// Safe from any thread, never throws, never prints. For each lock of ours that a thread holds which is off the CPU,
// blocks for kLockWaitNs or little more at most.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ipc/process_state.h"
#include "wire/wire.h"

namespace gpuprof::injection {

// The id of a text, emitting a NAME record at its first use. 0 on an empty text or when out of memory (counted).
uint32_t name_id(const char* text);
uint32_t name_id(const char* text, size_t length);

bool range(gpuprof_range range);  // false: it could not be written, and was counted
void span(gpuprof_span span);
void device(uint32_t device, const char* name, const char* uuid);
void meta(const char* key, const char* value);
void meta(const char* key, uint64_t number);
bool python(const gpuprof_python_layout& layout);  // false: not connected, or it could not be written

// Counts of the segment.
void lost(gpuprof_loss kind, uint64_t count);
void count(gpuprof_count kind);

// What the recorder wants: gpuprof_segment.options, whether one of their flags is set, and the control bits of the
// moment. Null, false and 0 when not connected.
[[nodiscard]] const gpuprof_options* options();
[[nodiscard]] bool wants(uint32_t flag);
[[nodiscard]] uint32_t control();

}  // namespace gpuprof::injection
