// What reads the times of a list that was executed: a list of ours, which runs behind it on the same queue. All calls
// hold Locked.
#pragma once

#include <cstdint>

#include "level_zero/executions.h"
#include "level_zero/objects.h"

namespace gpuprof::injection::level_zero {

// A list of ours, and what it has read.
struct Readout {
  Readout* next;  // among those that run, or the idle ones of `recorded`
  Recorded* recorded;
  ze_command_list_handle_t list;
  ze_kernel_timestamp_result_t* times;  // null: the host reads the events itself
  OwnEvent* done;
  const void* target;  // of the execution
  uint64_t correlation;
  uint64_t stream;
  uint32_t ordinal;
  bool overtaken;             // the list was executed again before the host had read the events
  ze_event_handle_t spoiled;  // an event of the target's, which it has reset before it was read
  bool all_spoiled;           // more than one
};

// The commands of a list from one reset to the next.
struct Recorded {
  ze_context_handle_t context;
  ze_device_handle_t device_handle;
  uint32_t device;
  Work* works;
  uint32_t count;
  uint32_t room;
  uint32_t with_users;  // works that signal an event of the target's
  uint32_t running;     // readouts
  bool abandoned;       // the list has been reset or destroyed
  bool cannot_query;    // the device does not copy times itself: one for copies only
  bool untimed;         // from now on: others signal its events, too, or the device has failed
  Readout* idle;
};

// The event that has the command's time; null: none has.
ze_event_handle_t event_of(const Work& work);

// Null: no memory, or the driver refuses.
Readout* make_readout(Recorded* recorded, uint32_t ordinal);

// Puts it on what the target has just executed its list on.
bool submit(Readout* readout, const Target& target);

// With its idle readouts; none runs.
void free_recorded(Recorded* recorded);

}  // namespace gpuprof::injection::level_zero
