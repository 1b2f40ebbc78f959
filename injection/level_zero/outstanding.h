// Work of the target's that has been handed to a device: read once it has finished.
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
  bool appended;  // the target's call has come back, and it is ours
  bool settled;   // its event is not to be looked at any more
  bool read;      // before it was appended: these are its times
  ze_kernel_timestamp_result_t times;
};

// From here on ours; `pending` comes from calloc. Holds Locked.
void add_outstanding(Pending* pending);

// Whether one more can be followed: on a device that hangs they would be without end.
bool room_for_outstanding();

// Tells of up to `most` commands that have finished. Where `may_wait`, a full ring is waited for.
void tell_finished(uint32_t most, bool may_wait);

// At each launch: tells of some of the oldest where there are many, so that events of ours do not pile up between two
// looks of the service thread.
void make_room();

// The target is about to use its event for something else, or has just been told that it is signaled: now or never.
// That may be on another thread, and before the call that appends the command has come back. Holds Locked.
void settle(TargetEvent* event);

// The target destroys the context: what has not finished is lost. Holds Locked.
void settle_context(ze_context_handle_t context);

// At the end of the process: gives what is still running 0.2 s, and as long as some of it finishes, but one second at
// most; the rest is counted.
void wait_for_outstanding();

// A finished command, from its times.
void tell(const Work& work, uint64_t correlation, uint64_t stream, uint32_t device,
          const ze_kernel_timestamp_result_t& times, bool may_wait);

void forget_outstanding();

}  // namespace gpuprof::injection::level_zero
