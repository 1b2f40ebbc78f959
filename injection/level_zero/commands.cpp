#include "level_zero/commands.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/guard.h"
#include "base/monotonic_clock.h"
#include "ipc/emit.h"
#include "level_zero/api/api.h"
#include "level_zero/api/error_names.h"
#include "level_zero/devices.h"
#include "level_zero/executions.h"
#include "level_zero/handle_queries.h"
#include "level_zero/objects.h"
#include "level_zero/outstanding.h"
#include "level_zero/own_events.h"
#include "runtime/launch.h"
#include "runtime/lifecycle.h"
#include "runtime/recording.h"
#include "runtime/service_thread.h"
#include "runtime/work.h"

namespace gpuprof::injection::level_zero {
namespace {

struct Append {
  Pending* pending;
  // The target's event, while a library event replaces it in the call; null: the target passed no event.
  ze_event_handle_t theirs;
  bool ours;  // the driver got a library event instead of the target's
  bool immediate;
  bool known;
  bool timed;  // the call's overhead is measured
};

// Returns whether to record. A forked child is not recorded, because it has neither the driver's threads nor its
// devices.
bool wanted() {
  if (in_fork()) {
    if (active()) {
      disable("a child of fork() that did not call exec() uses Level Zero, which is not recorded");
    }
    return false;
  }
  return active();
}

// Lists that are executed later are followed between windows, too: a list may be executed in a later window, and its
// library events must be reset after each execution.
bool has_windows() {
  return !in_fork() && wants(GPUPROF_OPTION_WINDOWS);
}

// Called between windows. Counts a command that runs at once.
bool is_for_later(ze_command_list_handle_t handle) {
  if (!has_windows()) {
    return false;
  }
  const Locked locked;
  const List* list = locked.held() ? find_or_query_list(handle) : nullptr;
  const bool later = list != nullptr && !list->immediate;
  if (!later) {
    count_passed();
  }
  return later;
}

// Returns the name id of a kernel, or 0 if the driver gives no name. A driver may report success without writing
// anything, or a wrong length. So the memory is zeroed, and only the text in it counts.
uint32_t kernel_name(ze_kernel_handle_t kernel) {
  constexpr size_t kLongest = 65536;
  char name[512] = {};
  size_t bytes = sizeof(name);
  if (kernel == nullptr) {
    return 0;
  }
  if (api.zeKernelGetName(kernel, &bytes, name) == ZE_RESULT_SUCCESS && bytes > 1 && bytes <= sizeof(name)) {
    return name_id(name, strnlen(name, bytes));
  }
  bytes = 0;
  if (api.zeKernelGetName(kernel, &bytes, nullptr) != ZE_RESULT_SUCCESS || bytes <= sizeof(name) || bytes > kLongest) {
    return 0;
  }
  const size_t room = bytes;
  auto* longer = static_cast<char*>(calloc(1, room));
  if (longer == nullptr) {
    lost(GPUPROF_LOSS_OUT_OF_MEMORY, 1);
    return 0;
  }
  const bool read = api.zeKernelGetName(kernel, &bytes, longer) == ZE_RESULT_SUCCESS;
  const uint32_t id = read ? name_id(longer, strnlen(longer, room)) : 0;
  free(longer);
  return id;
}

enum class Place { unknown, host, device, shared };

struct Memory {
  Place place = Place::unknown;
  ze_device_handle_t device = nullptr;
};

// Classifies an address. Memory that the driver did not allocate is host memory.
Memory memory_at(ze_context_handle_t context, const void* address) {
  ze_memory_allocation_properties_t properties = {};
  properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
  Memory memory;
  if (address == nullptr || context == nullptr ||
      api.zeMemGetAllocProperties(context, address, &properties, &memory.device) != ZE_RESULT_SUCCESS) {
    return memory;
  }
  memory.place = properties.type == ZE_MEMORY_TYPE_DEVICE   ? Place::device
                 : properties.type == ZE_MEMORY_TYPE_SHARED ? Place::shared
                                                            : Place::host;
  return memory;
}

gpuprof_op direction(ze_context_handle_t context, const void* to, const void* from) {
  const Memory target = memory_at(context, to);
  const Memory source = memory_at(context, from);
  if (target.place == Place::device && source.place == Place::device) {
    return target.device == source.device ? GPUPROF_OP_COPY_DTOD : GPUPROF_OP_COPY_PTOP;
  }
  if (target.place == Place::device && source.place == Place::host) {
    return GPUPROF_OP_COPY_HTOD;
  }
  if (target.place == Place::host && source.place == Place::device) {
    return GPUPROF_OP_COPY_DTOH;
  }
  return target.place == Place::host && source.place == Place::host ? GPUPROF_OP_COPY_HTOH : GPUPROF_OP_COPY;
}

// Chooses the event from which the command's time is read. Does not replace the target's event if that has timestamps,
// or may have them: if its creation was not seen, this is unknown.
void choose_event(const List& list, ze_event_handle_t* signal, Append* append) {
  Work& work = append->pending->work;
  TargetEvent* theirs = *signal == nullptr ? nullptr : find_or_query_event(*signal);
  if (*signal != nullptr && (theirs == nullptr || theirs->timed)) {
    if (theirs == nullptr) {
      return;
    }
    work.users = *signal;
    if (list.immediate) {
      read_or_drop(theirs);
      theirs->pending = append->pending;
    }
    return;
  }
  work.own = take_event(list.context);
  if (work.own != nullptr) {
    append->theirs = *signal;
    append->ours = true;
    *signal = work.own->handle;
  }
}

// Makes the list signal the target's event, because the command signals a library event in its place. Uses a barrier
// that waits for all earlier commands. A barrier that waits only for the library event would delay later commands just
// as long. It would also delay the reuse of the library event.
void signal_target_event(ze_command_list_handle_t list, ze_event_handle_t theirs) {
  if (api.zeCommandListAppendBarrier(list, theirs, 0, nullptr) != ZE_RESULT_SUCCESS) {
    api.zeCommandListAppendSignalEvent(list, theirs);  // if the barrier failed, the target would otherwise wait forever
  }
}

void emit_node(const Work& work) {
  gpuprof_graph_node node = {};
  node.node = work.node;
  node.name_id = work.name;
  graph_node(node);
}

// Stores a command that the driver has accepted.
void keep(ze_command_list_handle_t handle, Append* append) {
  Pending* pending = append->pending;
  append->pending = nullptr;
  if (!append->immediate) {
    emit_node(pending->work);
  }
  const Locked locked;
  if (!locked.held()) {
    return;  // leaks `pending`, because an event of the target may still point to it
  }
  List* list = lists.find(handle);
  const bool timed = pending->work.own != nullptr || pending->work.users != nullptr || pending->event_released;
  if (append->immediate && timed) {
    add_outstanding(pending);
    return;
  }
  if (append->immediate || list == nullptr || !record_command(list, pending->work)) {
    lost(GPUPROF_LOSS_NO_TIMING, 1);
  }
  free(pending);
}

void drop(Append* append) {
  Pending* pending = append->pending;
  append->pending = nullptr;
  const Locked locked;
  if (locked.held()) {
    give_back(pending->work.own);
    TargetEvent* users = pending->work.users == nullptr ? nullptr : target_events.find(pending->work.users);
    if (users != nullptr && users->pending == pending) {
      users->pending = nullptr;
    }
    free(pending);
  }
}

// Fills in the device, stream and event. Returns false if the list is unknown.
bool prepare(const Command& command, Append* append) {
  Pending* pending = append->pending;
  const Locked locked;
  const List* list = locked.held() ? find_or_query_list(command.list) : nullptr;
  if (list == nullptr) {
    append->immediate = true;  // a command of an unknown list is reported as a launch with an unknown time
    return false;
  }
  append->immediate = list->immediate;
  pending->device = device_index(list->device);
  pending->stream = list->number;
  if (!list->immediate || can_track_more()) {
    choose_event(*list, command.signal, append);
  }
  return true;
}

bool find_target(const Execution& execution, Target* target) {
  if (execution.immediate) {
    const List* list = find_or_query_list(static_cast<ze_command_list_handle_t>(execution.target));
    *target = list == nullptr ? Target{} : Target{execution.target, true, list->number, list->ordinal};
    return list != nullptr;
  }
  const Queue* queue = find_or_query_queue(static_cast<ze_command_queue_handle_t>(execution.target));
  *target = queue == nullptr ? Target{} : Target{execution.target, false, queue->number, queue->ordinal};
  return queue != nullptr;
}

ze_context_handle_t context_of(ze_command_list_handle_t handle) {
  const Locked locked;
  const List* list = locked.held() ? find_or_query_list(handle) : nullptr;
  return list == nullptr ? nullptr : list->context;
}

}  // namespace

void begin_command(Command command, void** call) {
  const Guard guard;
  *call = nullptr;
  if (!guard.entered() || !(wanted() || is_for_later(command.list))) {
    return;
  }
  const uint64_t begun_ns = begin_timing();
  auto* append = static_cast<Append*>(calloc(1, sizeof(Append)));
  auto* pending = static_cast<Pending*>(calloc(1, sizeof(Pending)));
  if (append == nullptr || pending == nullptr) {
    free(append);
    free(pending);
    lost(GPUPROF_LOSS_OUT_OF_MEMORY, 1);
    return;
  }
  note_work();
  append->pending = pending;
  report_oldest();
  if (command.op == GPUPROF_OP_COPY && (command.to != nullptr || command.from != nullptr)) {
    command.op = direction(context_of(command.list), command.to, command.from);
  }
  pending->work.op = command.op;
  pending->work.bytes = command.bytes;
  pending->work.name = kernel_name(command.kernel);
  append->known = prepare(command, append);
  *call = append;
  if (append->immediate) {
    pending->correlation = next_correlation();
    append->timed = launch(pending->correlation, false, 0, begun_ns);
  } else {
    pending->work.node = next_correlation();
    stack_here(GPUPROF_CORRELATION_NODE | pending->work.node);
  }
}

void end_command(ze_command_list_handle_t list, ze_event_handle_t* signal, ze_result_t result, void** call) {
  const Guard guard;
  auto* append = static_cast<Append*>(*call);
  if (append == nullptr) {
    return;
  }
  *call = nullptr;
  const uint64_t end_ns = append->immediate ? now_ns() : 0;
  const uint64_t correlation = append->pending->correlation;
  if (append->theirs != nullptr) {
    *signal = append->theirs;  // restores the argument, because other tracers must see the target's event
  } else if (append->ours) {
    *signal = nullptr;
  }
  if (result != ZE_RESULT_SUCCESS) {
    if (append->immediate) {
      call_failed(correlation, {"zeCommandListAppend*", error_name(result), result});
    }
    drop(append);
  } else {
    if (append->theirs != nullptr) {
      signal_target_event(list, append->theirs);
    }
    keep(list, append);
  }
  if (append->timed) {
    add_overhead(now_ns() - end_ns);
  }
  if (append->immediate) {
    report_if_long("zeCommandListAppend*", end_ns);
  }
  free(append);
}

void begin_execution(uint32_t count, ze_command_list_handle_t* handles, void** call) {
  const Guard guard;
  *call = nullptr;
  if (!guard.entered() || handles == nullptr || !(wanted() || has_windows())) {
    return;
  }
  report_oldest_executions();
  uint64_t commands = 0;
  {
    const Locked locked;
    for (uint32_t i = 0; locked.held() && i < count; ++i) {
      List* list = find_or_query_list(handles[i]);
      if (list != nullptr) {
        before_execution(list);
        commands += recorded_commands(list) + (list->older ? 1 : 0);
      }
    }
  }
  if (commands == 0) {
    return;
  }
  note_work();
  const uint64_t correlation = next_correlation();
  launch(correlation, commands > 1);
  *call = reinterpret_cast<void*>(correlation);  // NOLINT(performance-no-int-to-ptr): the slot stores 8 bytes
}

void end_execution(const Execution& execution, ze_result_t result, void** call) {
  const Guard guard;
  const auto correlation = reinterpret_cast<uint64_t>(*call);
  if (correlation == 0) {
    return;
  }
  *call = nullptr;
  const char* function =
      execution.immediate ? "zeCommandListImmediateAppendCommandListsExp" : "zeCommandQueueExecuteCommandLists";
  report_if_long(function, now_ns());
  if (result != ZE_RESULT_SUCCESS) {
    call_failed(correlation, {function, error_name(result), result});
    return;
  }
  const Locked locked;
  Target target = {};
  const bool known = locked.held() && find_target(execution, &target);
  for (uint32_t i = 0; i < execution.count; ++i) {
    List* list = locked.held() ? lists.find(execution.lists[i]) : nullptr;
    if (list != nullptr && list->older) {
      // The list was created before the recording, so at least one of its commands is unknown and has no time.
      lost(GPUPROF_LOSS_NO_TIMING, 1);
    }
    // If one call executes a list twice, the events hold only the times of the second execution.
    const bool again = std::find(execution.lists + i + 1, execution.lists + execution.count, execution.lists[i]) !=
                       execution.lists + execution.count;
    if (list != nullptr && known && !again) {
      after_execution(target, list, correlation);
    } else if (list != nullptr) {
      lost(GPUPROF_LOSS_NO_TIMING, recorded_commands(list));
    }
  }
}

}  // namespace gpuprof::injection::level_zero
