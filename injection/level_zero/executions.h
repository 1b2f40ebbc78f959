// Measures lists that are executed later, once or repeatedly. Each command in a list has an event: a library event
// (own_events.h) or the target's. After each execution, a small readout list on the same queue copies the times and
// resets the library events. So if a list is executed twice in succession, the times of both executions are exact.
#pragma once

#include <cstdint>

#include "level_zero/objects.h"

namespace gpuprof::injection::level_zero {

// Stores a command of the list until the list is reset. All functions need Locked unless stated otherwise.
bool record_command(List* list, const Work& work);  // returns false if memory is exhausted
// Notes that a command of the list resets this event of the target. After an execution, the event then holds no time.
void note_reset_inside(List* list, ze_event_handle_t event);
// Notes that the host resets an event of the target. Executions whose times were not read yet lose this event's time.
void note_reset_by_host(ze_event_handle_t event);
// Stops timing the list, because its events are also signaled by other lists.
void note_shared_events(List* list);
// Copies the commands without their times.
void record_clone(const List& list, List* clone);
// Drops the commands, because the target resets or destroys the list.
void drop_recorded(List* list);

uint32_t recorded_commands(const List* list);

// Prepares the list for its next execution. If the device cannot copy times, earlier executions lose the times that
// were not read yet.
void before_execution(List* list);
// Where lists are executed: a queue or an immediate list (zeCommandListImmediateAppendCommandListsExp).
struct Target {
  void* handle;
  bool immediate;
  uint64_t number;
  uint32_t ordinal;
};
// Starts the readout of an execution. `correlation` is the id of the launch that executed the list.
void after_execution(const Target& target, List* list, uint64_t correlation);

// Before the target destroys a queue, list or event, waits for readouts that use it, for a limited time. The caller
// must not hold the lock (Locked).
void finish_executions(const void* target);
void finish_executions_with(ze_event_handle_t event);

// Reports finished executions. The caller must not hold the lock (Locked).
void report_executions(bool may_wait);

// If many executions are unreported, reports some of the oldest: each unreported one occupies a readout list.
void report_oldest_executions();

uint64_t outstanding_executions();
// Counts all executions that are not reported yet as unfinished.
void give_up_executions();
void drop_executions(ze_context_handle_t context);

void forget_executions();

}  // namespace gpuprof::injection::level_zero
