// Tracks commands that the target has submitted, and reads their times once they have finished.
#pragma once

#include <cstdint>

#include "level_zero/objects.h"

namespace gpuprof::injection::level_zero {

// A command of an immediate list.
struct Pending {
  Pending* next;
  Work work;
  uint64_t correlation;
  uint64_t stream;
  uint32_t device;
  bool appended;        // the target's call has returned, and the table owns the command
  bool event_released;  // the command's event may have been destroyed or reused, so it must not be read
  bool read;            // the command's times were read before the target's call returned
  ze_kernel_timestamp_result_t times;
};

// Takes ownership of `pending` (from calloc). Needs Locked.
void add_outstanding(Pending* pending);

// Returns whether one more command can be tracked. The limit is reached only if a device hangs.
bool can_track_more();

// Reports at most `most` finished commands. With `may_wait`, waits for free space in the ring.
void report_finished(uint32_t most, bool may_wait);

// Called at each launch. If many commands are outstanding, reports some of the oldest, so that few library events are
// in use.
void report_oldest();

// Reads the time of the command that signals the event. If the command has not finished, drops it. Called when the
// target will reuse the event or has seen it signaled; another thread may still be appending the command. Needs Locked.
void read_or_drop(TargetEvent* event);

// Drops unfinished commands of a context that the target is destroying. Needs Locked.
void drop_context(ze_context_handle_t context);

// Waits up to 0.5 s for outstanding commands when the recording ends. Counts the others as lost.
void wait_for_outstanding();

void report_work(const Work& work, uint64_t correlation, uint64_t stream, uint32_t device,
                 const ze_kernel_timestamp_result_t& times, bool may_wait);

void forget_outstanding();

}  // namespace gpuprof::injection::level_zero
