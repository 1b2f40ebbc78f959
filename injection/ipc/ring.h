// Writing records into the segment.
#pragma once

#include "base/thread_state.h"
#include "ipc/process_state.h"
#include "wire/wire.h"

namespace gpuprof::injection {

// The ring of the calling thread.
gpuprof_ring& ring_of(gpuprof_segment* segment, ThreadState& thread);

// Writes one record: `head` (whose header this fills in but for `type`), then `text`, then zeros up to a multiple of
// eight. False: it did not fit or the ring was busy. That has been counted, but for LAUNCH records and what belongs to
// stacks: their launch is counted, once, by who tells of it. Waits for the ring's lock for about kLockWaitNs at most.
// Where `may_wait`, it tries the lock some times more, and waits for space while the recorder is alive: see ring.cpp.
bool write_record(gpuprof_segment* segment, gpuprof_record* head, size_t head_bytes, const char* text,
                  size_t text_bytes, bool may_wait);

// The same, into the ring of this number and no other: for records that are to be read in the order of their writing,
// whoever writes them.
bool write_record_to(gpuprof_segment* segment, uint32_t ring, gpuprof_record* head, size_t head_bytes, const char* text,
                     size_t text_bytes, bool may_wait);

// A record without a text, whose type is filled in. Nothing where there is no connection.
template <typename Record>
bool emit_record(Record& record, bool may_wait = false) {
  gpuprof_segment* segment = open_segment();
  return segment != nullptr && write_record(segment, &record.header, sizeof(record), nullptr, 0, may_wait);
}

// Forgets what has been learnt about a segment that is no longer used.
void reset_rings();

}  // namespace gpuprof::injection
