#include "level_zero/executions.h"

#include <cstdlib>
#include <cstring>
#include <ctime>

#include "ipc/emit.h"
#include "level_zero/devices.h"
#include "level_zero/newer.h"
#include "level_zero/outstanding.h"
#include "level_zero/own_events.h"

namespace gpuprof::injection::level_zero {

// A list of ours, which runs after each execution of the target's; and what it has read.
struct Readout {
  Readout* next_of_list;  // of the same Recorded
  Readout* next;          // among those that run
  Recorded* recorded;
  ze_command_list_handle_t list;
  ze_kernel_timestamp_result_t* times;  // null: the host reads the events itself
  OwnEvent* done;
  const void* target;  // of the execution
  uint64_t correlation;
  uint64_t stream;
  uint32_t ordinal;
  bool running;
  bool overtaken;  // the list was executed again before the host had read the events
};

struct Recorded {
  ze_context_handle_t context;
  ze_device_handle_t device_handle;
  uint32_t device;
  Work* works;
  uint32_t count;
  uint32_t room;
  uint32_t running;   // readouts
  bool abandoned;     // the list has been reset or destroyed
  bool cannot_query;  // the device does not copy times itself: one for copies only
  Readout* readouts;
};

namespace {

constexpr uint32_t kFewestWorks = 16;

// Under Locked.
Readout* first = nullptr;
Readout** last_link = &first;
uint64_t running_count = 0;

Readout* pop() {
  Readout* readout = first;
  if (readout != nullptr) {
    first = readout->next;
    if (first == nullptr) {
      last_link = &first;
    }
    --running_count;
  }
  return readout;
}

void push(Readout* readout) {
  readout->next = nullptr;
  *last_link = readout;
  last_link = &readout->next;
  ++running_count;
}

void free_readout(ze_context_handle_t context, Readout* readout) {
  if (readout->list != nullptr) {
    api.zeCommandListDestroy(readout->list);
  }
  if (readout->times != nullptr) {
    api.zeMemFree(context, readout->times);
  }
  give_back(readout->done);
  free(readout);
}

void free_recorded(Recorded* recorded) {
  while (recorded->readouts != nullptr) {
    Readout* readout = recorded->readouts;
    recorded->readouts = readout->next_of_list;
    free_readout(recorded->context, readout);
  }
  for (uint32_t i = 0; i < recorded->count; ++i) {
    give_back(recorded->works[i].own);
  }
  free(recorded->works);
  free(recorded);
}

ze_event_handle_t event_of(const Work& work) {
  return work.own != nullptr ? work.own->handle : work.users;
}

// False: the device can not.
bool append_query(Readout* readout, const Recorded& recorded) {
  auto* events = static_cast<ze_event_handle_t*>(malloc(recorded.count * sizeof(ze_event_handle_t)));
  if (events == nullptr) {
    return false;
  }
  uint32_t count = 0;
  for (uint32_t i = 0; i < recorded.count; ++i) {
    events[count] = event_of(recorded.works[i]);
    count += events[count] != nullptr ? 1 : 0;
  }
  const bool appended =
      count == 0 || (api.zeCommandListAppendQueryKernelTimestamps(readout->list, count, events, readout->times, nullptr,
                                                                  nullptr, 0, nullptr) == ZE_RESULT_SUCCESS &&
                     api.zeCommandListAppendBarrier(readout->list, nullptr, 0, nullptr) == ZE_RESULT_SUCCESS);
  free(events);
  return appended;
}

bool append_resets(Readout* readout, const Recorded& recorded) {
  for (uint32_t i = 0; i < recorded.count; ++i) {
    const OwnEvent* own = recorded.works[i].own;
    if (own != nullptr && api.zeCommandListAppendEventReset(readout->list, own->handle) != ZE_RESULT_SUCCESS) {
      return false;
    }
  }
  return true;
}

// Barriers: what was put on the queue before has finished, and what comes after sees events that are reset.
bool write_list(Readout* readout, const Recorded& recorded, bool query) {
  ze_command_list_desc_t description = {};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
  description.commandQueueGroupOrdinal = readout->ordinal;
  if (api.zeCommandListCreate(recorded.context, recorded.device_handle, &description, &readout->list) !=
      ZE_RESULT_SUCCESS) {
    readout->list = nullptr;
    return false;
  }
  const bool written =
      api.zeCommandListAppendBarrier(readout->list, nullptr, 0, nullptr) == ZE_RESULT_SUCCESS &&
      (!query || (append_query(readout, recorded) && append_resets(readout, recorded))) &&
      api.zeCommandListAppendBarrier(readout->list, readout->done->handle, 0, nullptr) == ZE_RESULT_SUCCESS &&
      api.zeCommandListClose(readout->list) == ZE_RESULT_SUCCESS;
  if (!written) {
    api.zeCommandListDestroy(readout->list);
    readout->list = nullptr;
  }
  return written;
}

bool allocate_times(Readout* readout, const Recorded& recorded) {
  ze_host_mem_alloc_desc_t description = {};
  description.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
  void* memory = nullptr;
  if (api.zeMemAllocHost(recorded.context, &description, recorded.count * sizeof(*readout->times), 64, &memory) !=
      ZE_RESULT_SUCCESS) {
    return false;
  }
  readout->times = static_cast<ze_kernel_timestamp_result_t*>(memory);
  return true;
}

Readout* make_readout(Recorded* recorded, uint32_t ordinal) {
  auto* readout = static_cast<Readout*>(calloc(1, sizeof(Readout)));
  if (readout == nullptr) {
    return nullptr;
  }
  readout->recorded = recorded;
  readout->ordinal = ordinal;
  readout->done = take_event(recorded->context);
  if (readout->done == nullptr) {
    free(readout);
    return nullptr;
  }
  if (!recorded->cannot_query && (!allocate_times(readout, *recorded) || !write_list(readout, *recorded, true))) {
    recorded->cannot_query = true;
  }
  if (recorded->cannot_query) {
    if (readout->times != nullptr) {
      api.zeMemFree(recorded->context, readout->times);
      readout->times = nullptr;
    }
    if (!write_list(readout, *recorded, false)) {
      free_readout(recorded->context, readout);
      return nullptr;
    }
  }
  readout->next_of_list = recorded->readouts;
  recorded->readouts = readout;
  return readout;
}

Readout* find_or_make_readout(Recorded* recorded, uint32_t ordinal) {
  for (Readout* known = recorded->readouts; known != nullptr; known = known->next_of_list) {
    if (!known->running && known->ordinal == ordinal) {
      return known;
    }
  }
  return make_readout(recorded, ordinal);
}

bool submit(Readout* readout, const Target& target) {
  if (!target.immediate) {
    return api.zeCommandQueueExecuteCommandLists(static_cast<ze_command_queue_handle_t>(target.handle), 1,
                                                 &readout->list, nullptr) == ZE_RESULT_SUCCESS;
  }
  const auto append = reinterpret_cast<newer::ImmediateAppendCommandLists>(
      find_function("zeCommandListImmediateAppendCommandListsExp"));
  return append != nullptr && append(static_cast<ze_command_list_handle_t>(target.handle), 1, &readout->list, nullptr,
                                     0, nullptr) == ZE_RESULT_SUCCESS;
}

// The host reads the event, and resets it for the next execution.
bool read_event(const Work& work, ze_kernel_timestamp_result_t* times) {
  const ze_event_handle_t event = event_of(work);
  const bool read = event != nullptr && api.zeEventQueryStatus(event) == ZE_RESULT_SUCCESS &&
                    api.zeEventQueryKernelTimestamp(event, times) == ZE_RESULT_SUCCESS;
  if (work.own != nullptr) {
    api.zeEventHostReset(work.own->handle);
  }
  return read;
}

// Not under Locked: the commands of a list that runs do not change.
void tell_all(const Readout& readout, bool may_wait) {
  const Recorded& recorded = *readout.recorded;
  uint32_t queried = 0;
  for (uint32_t i = 0; i < recorded.count; ++i) {
    const Work& work = recorded.works[i];
    ze_kernel_timestamp_result_t times = {};
    bool read = event_of(work) != nullptr && !readout.overtaken;
    if (read && readout.times != nullptr) {
      times = readout.times[queried];
      ++queried;
    } else if (read) {
      read = read_event(work, &times);
    }
    if (read) {
      tell(work, readout.correlation, readout.stream, recorded.device, times, may_wait);
    } else {
      lost(GPUPROF_LOSS_NO_TIMING, 1);
    }
  }
}

// Its list may be executed again with it, or has gone meanwhile.
void put_away(Readout* readout, bool reusable) {
  Recorded* recorded = readout->recorded;
  --recorded->running;
  if (reusable && api.zeEventHostReset(readout->done->handle) == ZE_RESULT_SUCCESS) {
    readout->running = false;
  }
  if (recorded->abandoned && recorded->running == 0) {
    free_recorded(recorded);
  }
}

// False: nothing runs any more.
bool look_at_next(bool may_wait) {
  Readout* readout = nullptr;
  ze_result_t status = ZE_RESULT_SUCCESS;
  {
    const Locked locked;
    readout = locked.held() ? pop() : nullptr;
    if (readout == nullptr) {
      return false;
    }
    status = api.zeEventQueryStatus(readout->done->handle);
    if (status == ZE_RESULT_NOT_READY) {
      push(readout);
      return true;
    }
  }
  if (status == ZE_RESULT_SUCCESS) {
    tell_all(*readout, may_wait);
  } else {
    lost(GPUPROF_LOSS_NO_TIMING, readout->recorded->count);
  }
  const Locked locked;
  if (locked.held()) {
    put_away(readout, status == ZE_RESULT_SUCCESS);
  }
  return true;
}

bool uses(const Readout& readout, ze_event_handle_t event) {
  const Recorded& recorded = *readout.recorded;
  for (uint32_t i = 0; i < recorded.count; ++i) {
    if (recorded.works[i].users == event) {
      return true;
    }
  }
  return false;
}

// Whether ours is still to run after an execution that the target takes for finished.
bool still_runs(const void* target, ze_event_handle_t event) {
  const Locked locked;
  if (locked.held()) {
    for (const Readout* readout = first; readout != nullptr; readout = readout->next) {
      if (target != nullptr ? readout->target == target : uses(*readout, event)) {
        return true;
      }
    }
  }
  return false;
}

void finish(const void* target, ze_event_handle_t event) {
  constexpr int kNaps = 1000;
  const timespec nap = {0, 100000};
  for (int i = 0; i < kNaps && still_runs(target, event); ++i) {
    tell_executions(false);
    if (still_runs(target, event)) {
      nanosleep(&nap, nullptr);
    }
  }
}

}  // namespace

bool record_command(List* list, const Work& work) {
  if (list->recorded == nullptr) {
    list->recorded = static_cast<Recorded*>(calloc(1, sizeof(Recorded)));
    if (list->recorded == nullptr) {
      return false;
    }
    list->recorded->context = list->context;
    list->recorded->device_handle = list->device;
    list->recorded->device = device_index(list->device);
  }
  Recorded& recorded = *list->recorded;
  if (recorded.count == recorded.room) {
    const uint32_t room = recorded.room == 0 ? kFewestWorks : 2 * recorded.room;
    auto* works = static_cast<Work*>(realloc(recorded.works, room * sizeof(Work)));
    if (works == nullptr) {
      return false;
    }
    recorded.works = works;
    recorded.room = room;
  }
  recorded.works[recorded.count] = work;
  ++recorded.count;
  return true;
}

void note_reset_inside(List* list, ze_event_handle_t event) {
  if (list->recorded == nullptr) {
    return;
  }
  for (uint32_t i = 0; i < list->recorded->count; ++i) {
    if (list->recorded->works[i].users == event) {
      list->recorded->works[i].users = nullptr;
    }
  }
}

void drop_recorded(List* list) {
  Recorded* recorded = list->recorded;
  list->recorded = nullptr;
  if (recorded == nullptr) {
    return;
  }
  recorded->abandoned = true;
  if (recorded->running == 0) {
    free_recorded(recorded);
  }
}

uint32_t recorded_commands(const List* list) {
  return list->recorded == nullptr ? 0 : list->recorded->count;
}

void before_execution(List* list) {
  for (Readout* readout = list->recorded == nullptr ? nullptr : list->recorded->readouts; readout != nullptr;
       readout = readout->next_of_list) {
    readout->overtaken = readout->overtaken || (readout->running && readout->times == nullptr);
  }
}

void after_execution(const Target& target, List* list, uint64_t correlation) {
  Recorded* recorded = list->recorded;
  if (recorded == nullptr) {
    return;
  }
  Readout* readout = find_or_make_readout(recorded, target.ordinal);
  if (readout == nullptr || !submit(readout, target)) {
    lost(GPUPROF_LOSS_NO_TIMING, recorded->count);
    return;
  }
  readout->target = target.handle;
  readout->correlation = correlation;
  readout->stream = target.number;
  readout->running = true;
  readout->overtaken = false;
  ++recorded->running;
  push(readout);
}

void finish_executions(const void* target) {
  finish(target, nullptr);
}

void finish_executions_with(ze_event_handle_t event) {
  finish(nullptr, event);
}

void tell_executions(bool may_wait) {
  const uint64_t there = load_relaxed(&running_count);
  for (uint64_t i = 0; i < there && look_at_next(may_wait); ++i) {
  }
}

uint64_t outstanding_executions() {
  return running_count;
}

void give_up_executions() {
  for (Readout* readout = pop(); readout != nullptr; readout = pop()) {
    lost(GPUPROF_LOSS_UNFINISHED, readout->recorded->count);
  }
}

void drop_executions(ze_context_handle_t context) {
  for (uint64_t left = running_count; left != 0; --left) {
    Readout* readout = pop();
    if (readout->recorded->context != context) {
      push(readout);
      continue;
    }
    lost(GPUPROF_LOSS_UNFINISHED, readout->recorded->count);
    --readout->recorded->running;
  }
}

void forget_executions() {
  first = nullptr;
  last_link = &first;
  running_count = 0;
}

}  // namespace gpuprof::injection::level_zero
