// Measures lists that are executed later, once or repeatedly. Each command in a list has an event: a library event
// (own_events.h) or the target's. After each execution, a small readout list on the same queue copies the times and
// resets the library events: so a list that is executed again at once has exact times for both executions.
#pragma once

#include <cstdint>

#include "level_zero/objects.h"

namespace gpuprof::injection::level_zero {

// Records a command of the list, until the list is reset. All functions need Locked unless stated otherwise.
bool record_command(List* list, const Work& work);  // false: no memory
// Notes that a command of the list resets this event of the target: after an execution the event holds no time.
void note_reset_inside(List* list, ze_event_handle_t event);
// Notes that the host resets an event of the target: executions that were not read yet lose the time.
void note_reset_by_host(ze_event_handle_t event);
// Stops timing the list, because other lists signal its events too.
void note_shared_events(List* list);
// Copies the commands without their times.
void record_clone(const List& list, List* clone);
// Drops the commands: the target resets or destroys the list.
void drop_recorded(List* list);

uint32_t recorded_commands(const List* list);

// Prepares for another execution of the list. If the device cannot copy times, earlier executions lose unread times.
void before_execution(List* list);
// Where lists are executed: a queue or an immediate list (zeCommandListImmediateAppendCommandListsExp).
struct Target {
  void* handle;
  bool immediate;
  uint64_t number;
  uint32_t ordinal;
};
// Starts the readout of an execution. `correlation`: id of the launch that executed the list.
void after_execution(const Target& target, List* list, uint64_t correlation);

// Waits for readouts, with a limit, before the target destroys a queue, list or event. Not under Locked.
void finish_executions(const void* target);
void finish_executions_with(ze_event_handle_t event);

// Reports finished executions. Not under Locked.
void report_executions(bool may_wait);

// Reports some of the oldest executions if there are many: each unreported one occupies a readout list.
void report_oldest_executions();

uint64_t outstanding_executions();
// Counts the remaining executions as unfinished.
void give_up_executions();
void drop_executions(ze_context_handle_t context);

void forget_executions();

}  // namespace gpuprof::injection::level_zero
