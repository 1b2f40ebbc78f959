#include "level_zero/outstanding.h"

#include <cstdlib>
#include <ctime>

#include "base/monotonic_clock.h"
#include "ipc/emit.h"
#include "level_zero/devices.h"
#include "level_zero/executions.h"
#include "level_zero/own_events.h"
#include "runtime/recording.h"
#include "runtime/work.h"

namespace gpuprof::injection::level_zero {
namespace {

// Outstanding commands in launch order. A command that a check finds unfinished moves to the end. Protected by Locked.
Pending* first = nullptr;
Pending** last_link = &first;
uint64_t pending_count = 0;

constexpr uint64_t kMostOutstanding = 65536;

Pending* pop() {
  Pending* pending = first;
  if (pending != nullptr) {
    first = pending->next;
    if (first == nullptr) {
      last_link = &first;
    }
    store_relaxed(&pending_count, pending_count - 1);
  }
  return pending;
}

void push(Pending* pending) {
  pending->next = nullptr;
  *last_link = pending;
  last_link = &pending->next;
  store_relaxed(&pending_count, pending_count + 1);
}

enum class Outcome { unfinished, finished, failed };

Outcome read(ze_event_handle_t event, ze_kernel_timestamp_result_t* times) {
  const ze_result_t status = api.zeEventQueryStatus(event);
  if (status == ZE_RESULT_NOT_READY) {
    return Outcome::unfinished;
  }
  return status == ZE_RESULT_SUCCESS && api.zeEventQueryKernelTimestamp(event, times) == ZE_RESULT_SUCCESS
             ? Outcome::finished
             : Outcome::failed;
}

ze_event_handle_t event_of(const Pending& pending) {
  return pending.work.own != nullptr ? pending.work.own->handle : pending.work.users;
}

void release_users(const Pending* pending) {
  TargetEvent* users = pending->work.users == nullptr ? nullptr : target_events.find(pending->work.users);
  if (users != nullptr && users->pending == pending) {
    users->pending = nullptr;
  }
}

void release_event(Pending* pending, bool failed) {
  if (failed) {
    abandon(pending->work.own);
  } else {
    give_back(pending->work.own);
  }
  release_users(pending);
  pending->work.own = nullptr;
  pending->work.users = nullptr;
  pending->event_released = true;
}

// Checks whether the oldest command has finished. Returns false if no command is outstanding.
bool check_oldest(bool may_wait) {
  Pending* pending = nullptr;
  Outcome outcome = Outcome::failed;
  ze_kernel_timestamp_result_t times = {};
  {
    const Locked locked;
    pending = locked.held() ? pop() : nullptr;
    if (pending == nullptr) {
      return false;
    }
    if (pending->event_released) {
      free(pending);
      return true;
    }
    outcome = read(event_of(*pending), &times);
    if (outcome == Outcome::unfinished) {
      push(pending);
      return true;
    }
    release_event(pending, outcome == Outcome::failed);
  }
  if (outcome == Outcome::finished) {
    report_work(pending->work, pending->correlation, pending->stream, pending->device, times, may_wait);
  } else {
    lost(GPUPROF_LOSS_NO_TIMING, 1);
  }
  free(pending);
  return true;
}

uint64_t outstanding() {
  const Locked locked;
  return locked.held() ? pending_count + outstanding_executions() : 0;
}

}  // namespace

void add_outstanding(Pending* pending) {
  pending->appended = true;
  if (!pending->event_released) {
    push(pending);
    return;
  }
  if (pending->read) {
    report_work(pending->work, pending->correlation, pending->stream, pending->device, pending->times, false);
  } else {
    lost(GPUPROF_LOSS_NO_TIMING, 1);
  }
  free(pending);
}

bool can_track_more() {
  return pending_count < kMostOutstanding;
}

void report_finished(uint32_t most, bool may_wait) {
  const uint64_t there = load_relaxed(&pending_count);
  for (uint64_t i = 0; i < there && i < most && check_oldest(may_wait); ++i) {
  }
}

void report_oldest() {
  constexpr uint64_t kMany = 4096;  // launches in 200 ms, the interval of the service thread, at 20 000 per second
  // Each launch adds one command. So if each launch reports two, fewer and fewer are left.
  constexpr uint32_t kLooks = 2;
  if (load_relaxed(&pending_count) > kMany) {
    report_finished(kLooks, false);
  }
}

void read_or_drop(TargetEvent* event) {
  Pending* pending = event->pending;
  if (pending == nullptr) {
    return;
  }
  const Outcome outcome = read(event_of(*pending), &pending->times);
  const Work work = pending->work;
  release_event(pending, false);
  if (!pending->appended) {
    pending->read = outcome == Outcome::finished;
  } else if (outcome == Outcome::finished) {
    report_work(work, pending->correlation, pending->stream, pending->device, pending->times, false);
  } else {
    lost(GPUPROF_LOSS_NO_TIMING, 1);
  }
}

void drop_context(ze_context_handle_t context) {
  for (uint64_t left = pending_count; left != 0; --left) {
    Pending* pending = pop();
    if (pending->work.own == nullptr || pending->work.own->context_handle != context) {
      push(pending);
      continue;
    }
    ze_kernel_timestamp_result_t times = {};
    const Outcome outcome = read(event_of(*pending), &times);
    if (outcome == Outcome::finished) {
      report_work(pending->work, pending->correlation, pending->stream, pending->device, times, false);
    } else {
      lost(outcome == Outcome::failed ? GPUPROF_LOSS_NO_TIMING : GPUPROF_LOSS_UNFINISHED, 1);
      if (outcome == Outcome::unfinished) {
        leave(pending->work.own);
      }
    }
    free(pending);
  }
}

void wait_for_outstanding() {
  const timespec nap = {0, 1000000};
  const uint64_t begin = now_ns();
  while (outstanding() != 0 && now_ns() - begin < kExitWaitForWorkNs) {
    nanosleep(&nap, nullptr);
    report_finished(UINT32_MAX, true);
    report_executions(true);
  }
  const Locked locked;
  if (!locked.held()) {
    return;
  }
  for (Pending* pending = pop(); pending != nullptr; pending = pop()) {
    if (!pending->event_released) {
      lost(GPUPROF_LOSS_UNFINISHED, 1);
      release_users(pending);
    }
  }
  give_up_executions();
}

void report_work(const Work& work, uint64_t correlation, uint64_t stream, uint32_t device,
                 const ze_kernel_timestamp_result_t& times, bool may_wait) {
  HostTimes host = {};
  if (!host_times(device, times.global, &host)) {
    lost(GPUPROF_LOSS_INVALID_TIMESTAMP, 1);
    return;
  }
  announce_device(device);
  gpuprof_gpu_op op = {};
  op.correlation = correlation;
  op.start_ns = host.start_ns;
  op.end_ns = host.end_ns;
  op.bytes = work.bytes;
  op.stream = stream;
  op.name_id = work.name;
  op.device = device;
  op.op = static_cast<uint16_t>(work.op);
  op.graph_node = work.node;
  gpu_op(op, may_wait);
}

void forget_outstanding() {
  first = nullptr;
  last_link = &first;
  pending_count = 0;
}

}  // namespace gpuprof::injection::level_zero
