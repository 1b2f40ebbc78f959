#include "level_zero/executions.h"

#include <cstdlib>
#include <ctime>

#include "ipc/emit.h"
#include "level_zero/devices.h"
#include "level_zero/outstanding.h"
#include "level_zero/own_events.h"
#include "level_zero/readout.h"

namespace gpuprof::injection::level_zero {
namespace {

constexpr uint32_t kFewestWorks = 16;
// Limit on the executions whose times are not read yet; each needs a readout list.
constexpr uint64_t kMostRunning = 4096;

// Protected by Locked.
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
    store_relaxed(&running_count, running_count - 1);
  }
  return readout;
}

void push(Readout* readout) {
  readout->next = nullptr;
  *last_link = readout;
  last_link = &readout->next;
  store_relaxed(&running_count, running_count + 1);
}

Readout* take_idle(Recorded* recorded, uint32_t ordinal) {
  for (Readout** link = &recorded->idle; *link != nullptr; link = &(*link)->next) {
    if (Readout* readout = *link; readout->ordinal == ordinal) {
      *link = readout->next;
      return readout;
    }
  }
  return nullptr;
}

// Reads the event's times on the host, and resets the event for the next execution.
bool read_event(const Work& work, ze_kernel_timestamp_result_t* times) {
  const ze_event_handle_t event = event_of(work);
  const bool read = event != nullptr && api.zeEventQueryStatus(event) == ZE_RESULT_SUCCESS &&
                    api.zeEventQueryKernelTimestamp(event, times) == ZE_RESULT_SUCCESS;
  if (work.own != nullptr) {
    api.zeEventHostReset(work.own->handle);
  }
  return read;
}

// A copy of an execution's results. The list, its events and its context may be destroyed before the results are
// reported.
struct Report {
  struct Command {
    Work work;
    ze_kernel_timestamp_result_t times;
    bool read;
  };
  Command* commands;
  uint32_t count;
  uint32_t device;
  uint64_t correlation;
  uint64_t stream;
};

bool is_spoiled(const Readout& readout, const Work& work) {
  return readout.overtaken || (work.users != nullptr && (readout.all_spoiled || readout.spoiled == work.users));
}

// Reads all times. Returns false if memory is exhausted.
bool read_all(const Readout& readout, Report* report) {
  const Recorded& recorded = *readout.recorded;
  report->commands = static_cast<Report::Command*>(malloc(recorded.count * sizeof(Report::Command)));
  if (report->commands == nullptr) {
    return false;
  }
  report->count = recorded.count;
  report->device = recorded.device;
  report->correlation = readout.correlation;
  report->stream = readout.stream;
  uint32_t queried = 0;
  for (uint32_t i = 0; i < recorded.count; ++i) {
    Report::Command& command = report->commands[i];
    command = {recorded.works[i], {}, false};
    if (event_of(command.work) == nullptr) {
      continue;
    }
    const bool valid = !is_spoiled(readout, command.work);
    if (readout.times != nullptr) {
      command.times = readout.times[queried];
      readout.times[queried] = {};  // if the next execution writes nothing, these times must not count again
      command.read = valid;
      ++queried;
    } else {
      command.read = valid && read_event(command.work, &command.times);
    }
  }
  return true;
}

void report_all(const Report& report, bool may_wait) {
  for (uint32_t i = 0; i < report.count; ++i) {
    const Report::Command& command = report.commands[i];
    if (command.read) {
      report_work(command.work, report.correlation, report.stream, report.device, command.times, may_wait);
    } else {
      lost(GPUPROF_LOSS_NO_TIMING, 1);
    }
  }
}

// Makes the readout reusable. If the list was reset or destroyed and no other readout is running, also frees the
// commands.
void put_away(Readout* readout, bool failed) {
  Recorded* recorded = readout->recorded;
  --recorded->running;
  readout->next = recorded->idle;
  recorded->idle = readout;
  if (failed || api.zeEventHostReset(readout->done->handle) != ZE_RESULT_SUCCESS) {
    recorded->untimed = true;
  }
  if (recorded->abandoned && recorded->running == 0) {
    free_recorded(recorded);
  }
}

// Checks the oldest execution. Returns false if none is running.
bool check_oldest(bool may_wait) {
  Report report = {};
  {
    const Locked locked;
    Readout* readout = locked.held() ? pop() : nullptr;
    if (readout == nullptr) {
      return false;
    }
    const ze_result_t status = api.zeEventQueryStatus(readout->done->handle);
    if (status == ZE_RESULT_NOT_READY) {
      push(readout);
      return true;
    }
    if (status != ZE_RESULT_SUCCESS || !read_all(*readout, &report)) {
      lost(GPUPROF_LOSS_NO_TIMING, readout->recorded->count);
    }
    put_away(readout, status != ZE_RESULT_SUCCESS);
  }
  report_all(report, may_wait);
  free(report.commands);
  return true;
}

void look_at(uint64_t most, bool may_wait) {
  const uint64_t there = load_relaxed(&running_count);
  for (uint64_t i = 0; i < there && i < most && check_oldest(may_wait); ++i) {
  }
}

bool uses(const Readout& readout, ze_event_handle_t event) {
  const Recorded& recorded = *readout.recorded;
  for (uint32_t i = 0; i < recorded.count && recorded.with_users != 0; ++i) {
    if (recorded.works[i].users == event) {
      return true;
    }
  }
  return false;
}

// Returns whether a readout is still running for an execution that has ended for the target.
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
    report_executions(false);
    if (still_runs(target, event)) {
      nanosleep(&nap, nullptr);
    }
  }
}

Recorded* find_or_make_recorded(List* list) {
  if (list->recorded == nullptr) {
    list->recorded = static_cast<Recorded*>(calloc(1, sizeof(Recorded)));
    if (list->recorded != nullptr) {
      list->recorded->context = list->context;
      list->recorded->device_handle = list->device;
      list->recorded->device = device_index(list->device);
    }
  }
  return list->recorded;
}

}  // namespace

bool record_command(List* list, const Work& work) {
  Recorded* recorded = find_or_make_recorded(list);
  if (recorded == nullptr) {
    return false;
  }
  if (recorded->count == recorded->room) {
    const uint32_t room = recorded->room == 0 ? kFewestWorks : 2 * recorded->room;
    auto* works = static_cast<Work*>(realloc(recorded->works, room * sizeof(Work)));
    if (works == nullptr) {
      return false;
    }
    recorded->works = works;
    recorded->room = room;
  }
  recorded->works[recorded->count] = work;
  ++recorded->count;
  recorded->with_users += work.users != nullptr ? 1 : 0;
  return true;
}

void note_reset_inside(List* list, ze_event_handle_t event) {
  Recorded* recorded = list->recorded;
  for (uint32_t i = 0; recorded != nullptr && recorded->with_users != 0 && i < recorded->count; ++i) {
    if (recorded->works[i].users == event) {
      recorded->works[i].users = nullptr;
      --recorded->with_users;
    }
  }
}

void note_reset_by_host(ze_event_handle_t event) {
  for (Readout* readout = first; readout != nullptr; readout = readout->next) {
    if (uses(*readout, event) &&
        (readout->times == nullptr || api.zeEventQueryStatus(readout->done->handle) == ZE_RESULT_NOT_READY)) {
      readout->all_spoiled = readout->all_spoiled || (readout->spoiled != nullptr && readout->spoiled != event);
      readout->spoiled = event;
    }
  }
}

void note_shared_events(List* list) {
  if (list->recorded != nullptr) {
    list->recorded->untimed = true;
  }
}

void record_clone(const List& list, List* clone) {
  for (uint32_t i = 0; list.recorded != nullptr && i < list.recorded->count; ++i) {
    Work work = list.recorded->works[i];
    work.own = nullptr;
    work.users = nullptr;
    record_command(clone, work);
  }
  note_shared_events(clone);
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
  if (list->recorded == nullptr || !list->recorded->cannot_query) {
    return;
  }
  for (Readout* readout = first; readout != nullptr; readout = readout->next) {
    readout->overtaken = readout->overtaken || (readout->recorded == list->recorded && readout->times == nullptr);
  }
}

void after_execution(const Target& target, List* list, uint64_t correlation) {
  Recorded* recorded = list->recorded;
  if (recorded == nullptr) {
    return;
  }
  Readout* readout = nullptr;
  if (!recorded->untimed && running_count < kMostRunning) {
    readout = take_idle(recorded, target.ordinal);
    readout = readout == nullptr ? make_readout(recorded, target.ordinal) : readout;
  }
  if (readout == nullptr) {
    lost(GPUPROF_LOSS_NO_TIMING, recorded->count);
    return;
  }
  if (!submit(readout, target)) {
    lost(GPUPROF_LOSS_NO_TIMING, recorded->count);
    // Without this readout, nothing resets the events for the next execution, so the list is no longer timed.
    recorded->untimed = true;
    readout->next = recorded->idle;
    recorded->idle = readout;
    return;
  }
  readout->target = target.handle;
  readout->correlation = correlation;
  readout->stream = target.number;
  readout->overtaken = false;
  readout->spoiled = nullptr;
  readout->all_spoiled = false;
  ++recorded->running;
  push(readout);
}

void finish_executions(const void* target) {
  finish(target, nullptr);
}

void finish_executions_with(ze_event_handle_t event) {
  finish(nullptr, event);
}

void report_executions(bool may_wait) {
  look_at(UINT64_MAX, may_wait);
}

void report_oldest_executions() {
  constexpr uint64_t kMany = 64;
  // Each launch adds one execution. So if each launch reports two, fewer and fewer are left.
  constexpr uint64_t kLooks = 2;
  if (load_relaxed(&running_count) > kMany) {
    look_at(kLooks, false);
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

// Drops the executions of a destroyed context. Leaks the memory that a device may still write to.
void drop_executions(ze_context_handle_t context) {
  for (uint64_t left = running_count; left != 0; --left) {
    Readout* readout = pop();
    const Recorded& recorded = *readout->recorded;
    if (recorded.context != context) {
      push(readout);
      continue;
    }
    lost(GPUPROF_LOSS_UNFINISHED, recorded.count);
    leave(readout->done);
    for (uint32_t i = 0; i < recorded.count; ++i) {
      leave(recorded.works[i].own);
    }
  }
}

void forget_executions() {
  first = nullptr;
  last_link = &first;
  running_count = 0;
}

}  // namespace gpuprof::injection::level_zero
