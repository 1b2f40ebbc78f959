// Lists that are executed later, once or often. Each command in one has an event of ours, or of the target's. After
// each execution, on the same queue, a small list of ours copies their times to memory of this execution and resets the
// events of ours: so a list that is executed again at once has exact times for both.
#pragma once

#include <cstdint>

#include "level_zero/objects.h"

namespace gpuprof::injection::level_zero {

// The commands of a list from one reset to the next. All calls hold Locked but where it is said.
bool record_command(List* list, const Work& work);  // false: no memory
// The target resets one of its own events within the list: what it times can not be read after an execution.
void note_reset_inside(List* list, ze_event_handle_t event);
// The host resets one of the target's: an execution that has not been read does not have its time any more.
void note_reset_by_host(ze_event_handle_t event);
// From here on others signal the events of the list, too: it is not timed any more.
void note_shared_events(List* list);
// `clone` has the same commands, without their times.
void record_clone(const List& list, List* clone);
// The target resets or destroys the list.
void drop_recorded(List* list);

// How many timed commands the list has.
uint32_t recorded_commands(const List* list);

// The target executes the list again: where the host reads its events, what has not been read by now is lost.
void before_execution(List* list);
// What lists are executed on: a queue, or an immediate list (zeCommandListImmediateAppendCommandListsExp).
struct Target {
  void* handle;
  bool immediate;
  uint64_t number;
  uint32_t ordinal;
};
// It has been executed there, by the launch `correlation`.
void after_execution(const Target& target, List* list, uint64_t correlation);

// The target destroys its event, or what it executed lists on: ours is finished with it first. Waits, within bounds;
// not under Locked.
void finish_executions(const void* target);
void finish_executions_with(ze_event_handle_t event);

// Tells of executions that have finished. Not under Locked.
void tell_executions(bool may_wait);

// At each execution: tells of some of the oldest where there are many, as each that is not told of has a list of ours.
void make_room_for_execution();

uint64_t outstanding_executions();
// The rest is counted as unfinished.
void give_up_executions();
void drop_executions(ze_context_handle_t context);

void forget_executions();

}  // namespace gpuprof::injection::level_zero
