// Writes records into the rings of the segment.
#pragma once

#include "base/thread_state.h"
#include "ipc/process_state.h"
#include "wire/wire.h"

namespace gpuprof::injection {

gpuprof_ring& ring_of(gpuprof_segment* segment, ThreadState& thread);

// Writes one record: `head`, `text`, and zeros up to a multiple of 8 bytes. Fills in the header of `head` except
// `type`. Returns false if the record does not fit or the ring is busy, and counts the loss. Only losses of LAUNCH and
// stack-related records are counted by the caller that reports the launch. Waits about kLockWaitNs for the lock, but
// not in ThreadState::in_handler. With `may_wait`, waits longer, and also for free space. `thread` is thread_state() or
// the state for a signal handler, which must not use thread_state(): it may allocate memory.
bool write_record(gpuprof_segment* segment, ThreadState& thread, gpuprof_record* head, size_t head_bytes,
                  const char* text, size_t text_bytes, bool may_wait);

inline bool write_record(gpuprof_segment* segment, gpuprof_record* head, size_t head_bytes, const char* text,
                         size_t text_bytes, bool may_wait) {
  return write_record(segment, thread_state(), head, head_bytes, text, text_bytes, may_wait);
}

// Writes only into the ring with this number. Use it for records of several threads that must be read in order.
bool write_record_to(gpuprof_segment* segment, uint32_t ring, gpuprof_record* head, size_t head_bytes, const char* text,
                     size_t text_bytes, bool may_wait);

// Writes a record without text, of the type that the caller has set. Returns false if not connected or if the write
// fails.
template <typename Record>
bool emit_record(Record& record, bool may_wait = false) {
  gpuprof_segment* segment = open_segment();
  return segment != nullptr && write_record(segment, &record.header, sizeof(record), nullptr, 0, may_wait);
}

// Returns how many threads have written a record.
[[nodiscard]] uint32_t writing_threads();

// Forgets which rings of the old segment were stuck.
void reset_rings();

}  // namespace gpuprof::injection
