// Emits records that need only the connection. Records are dropped without a connection. Records that cannot be written
// are dropped and counted. Callable from any thread; never throws or prints. Blocks for about kLockWaitNs per lock if
// the thread that holds the lock is not running.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ipc/process_state.h"
#include "wire/wire.h"

namespace gpuprof::injection {

// Returns a text's id, and emits a NAME record at its first use. Returns 0 if the text is empty, or if memory is
// exhausted (counted as a loss).
uint32_t name_id(const char* text);
uint32_t name_id(const char* text, size_t length);

bool range(gpuprof_range range);  // Returns false if the range was not written; the loss was counted.
void span(gpuprof_span span);
void device(uint32_t device, const char* name, const char* uuid);
void meta(const char* key, const char* value);
void meta(const char* key, uint64_t number);
bool python(const gpuprof_python_layout& layout);  // Returns false if not connected, or if the record was not written.

void lost(gpuprof_loss kind, uint64_t count);
void count(gpuprof_count kind, uint64_t number = 1);
void count_passed();  // counts a launch that is made while recording is off

// Return what the recorder requests: all options (gpuprof_segment.options), one flag of the options, or the current
// control bits. Without a connection they return null, false and 0.
[[nodiscard]] const gpuprof_options* options();
[[nodiscard]] bool wants(uint32_t flag);
[[nodiscard]] uint32_t control();

}  // namespace gpuprof::injection
