// Reads the times of an executed list, by a readout list that runs after it on the same queue. All functions need
// Locked.
#pragma once

#include <cstdint>

#include "level_zero/executions.h"
#include "level_zero/objects.h"

namespace gpuprof::injection::level_zero {

struct Readout {
  Readout* next;  // next readout in the list of running readouts, or in the list recorded->idle
  Recorded* recorded;
  ze_command_list_handle_t list;
  ze_kernel_timestamp_result_t* times;  // memory to which the device copies the times; null: the host reads the events
  OwnEvent* done;
  const void* target;  // queue or immediate list on which the list was executed
  uint64_t correlation;
  uint64_t stream;
  uint32_t ordinal;
  bool overtaken;             // the list was executed again before the host read the events
  ze_event_handle_t spoiled;  // event that the target reset before its time was read
  bool all_spoiled;           // the target reset more than one event
};

// The commands of a list between two resets.
struct Recorded {
  ze_context_handle_t context;
  ze_device_handle_t device_handle;
  uint32_t device;
  Work* works;
  uint32_t count;
  uint32_t room;
  uint32_t with_users;  // number of commands that signal an event of the target
  uint32_t running;
  bool abandoned;
  bool cannot_query;  // the list runs on a copy-only engine, which cannot copy event times
  bool untimed;       // The list is no longer timed, because other lists signal its events too or the device failed.
  Readout* idle;
};

// Returns the event with the command's time. Returns null if the command has no such event.
ze_event_handle_t event_of(const Work& work);

// Creates a readout. Returns null if memory is exhausted or the driver refuses.
Readout* make_readout(Recorded* recorded, uint32_t ordinal);

// Submits the readout list to the queue or immediate list that has just executed its list.
bool submit(Readout* readout, const Target& target);

// Frees the commands and the idle readouts. No readout may be running.
void free_recorded(Recorded* recorded);

}  // namespace gpuprof::injection::level_zero
