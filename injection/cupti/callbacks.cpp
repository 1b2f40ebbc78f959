#include "cupti/callbacks.h"

#include <cstdint>
#include <cstring>

#include "base/atomics.h"
#include "base/guard.h"
#include "base/keep_errno.h"
#include "base/monotonic_clock.h"
#include "base/thread_state.h"
#include "cupti/activity/host_records.h"
#include "cupti/api/error_names.h"
#include "cupti/calls.h"
#include "cupti/counting/sass_counting.h"
#include "cupti/devices.h"
#include "cupti/event_handlers.h"
#include "cupti/graphs.h"
#include "cupti/kernel_names.h"
#include "cupti/probes/block_memory.h"
#include "cupti/probes/block_probes.h"
#include "cupti/probes/driver.h"
#include "cupti/sampling/exact_launches.h"
#include "cupti/sampling/pc_sampling.h"
#include "cupti/session.h"
#include "cupti/subscriber.h"
#include "cupti/windows/passed_launches.h"
#include "cupti/windows/unfinished_launches.h"
#include "ipc/emit.h"
#include "runtime/launch.h"
#include "runtime/lifecycle.h"
#include "runtime/recording.h"
#include "runtime/service_thread.h"
#include "runtime/work.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint64_t kNoLaunch = UINT64_MAX;

constinit thread_local OpenCall open_call = {};
// The open calls around open_call, the outermost first. Deeper ones are not kept.
constexpr uint32_t kMostOuter = 4;
constinit thread_local OpenCall outer_calls[kMostOuter] = {};
constinit thread_local uint32_t outer_count = 0;
constinit thread_local uint32_t known_epoch = 0;  // call_epoch when the thread's last call began
constinit thread_local uint64_t last_launch = kNoLaunch;

uint64_t id_of(const CUpti_CallbackData& data) {
  return unique_id(data.correlationId);
}

uint64_t host_id(const CUpti_CallbackData& data) {
  return GPUPROF_CORRELATION_HOST | id_of(data);
}

// A launch while recording is off.
void pass(const CUpti_CallbackData& data) {
  note_attached_launch(data.correlationId);
  if (!tracing() && counts_passed()) {
    return;
  }
  count_passed();
  last_launch = id_of(data);
}

void begin_launch(const CUpti_CallbackData& data) {
  const uint64_t begun_ns = begin_timing();
  last_launch = id_of(data);
  if (wants(GPUPROF_OPTION_WINDOWS)) {
    // Until CUPTI is switched on, it may call back, but makes no records.
    if (load_relaxed(&session().paused) == 0) {
      launch_begun(data.correlationId);
    }
    note_attached_launch(data.correlationId);
  }
  note_context(data.context);
  open_call.start_ns = (control() & GPUPROF_CONTROL_CALLS) != 0 ? now_ns() : 0;
  open_call.name = open_call.kind == CallKind::launches_kernel ? name_of_launch(data) : 0;
  const bool sampled = open_call.name != 0 && begin_sampled_launch(id_of(data), open_call.name);
  const bool timed = launch(id_of(data), open_call.kind == CallKind::several, open_call.name, begun_ns);
  const uint64_t launched = timed ? now_ns() : 0;
  if (sampled) {
    open_call.range = open_sampled_launch(data.context);
  }
  open_call.timed_from_ns = sampled ? now_ns() : launched_ns();
  if (open_call.kind == CallKind::launches_graph) {
    report_graph_launch(data);
  }
  if (probing() && open_call.kind == CallKind::launches_kernel) {
    probe_launch(data, id_of(data));
    open_call.timed_from_ns = now_ns();
  }
  if (timed) {
    add_overhead(now_ns() - launched);
  }
}

// Keeps the open call if the call that begins is inside it. CUPTI may not have reported the end of the open call. Then
// the new call is not inside it, and mostly has a frame at the same or a higher address.
void note_outer_call(const void* frame) {
  while (outer_count > 0 && frame >= outer_calls[outer_count - 1].frame) {
    --outer_count;
  }
  if (open_call.open && outer_count < kMostOuter && frame < open_call.frame) {
    outer_calls[outer_count++] = open_call;
  }
}

// Forgets calls that began before CUPTI's callbacks were last switched on: their ends may not be reported. A counted
// launch stays open until the next call ends it.
void forget_interrupted_calls() {
  const uint32_t epoch = load_relaxed(&session().call_epoch);
  if (epoch != known_epoch) {
    known_epoch = epoch;
    outer_count = 0;
    open_call.open = open_call.open && open_call.counted != 0;
  }
}

void begin_call(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& data, const void* frame) {
  const CallKind kind = kind_of(domain, id);
  if (kind == CallKind::other) {
    return;
  }
  forget_interrupted_calls();
  const uint64_t unique = id_of(data);
  // A driver call inside a runtime call is ignored: both have the same correlation id and are one launch.
  if ((open_call.open && open_call.correlation == unique) || (is_launch(kind) && unique == last_launch) ||
      is_empty(domain, id, data.functionParams)) {
    return;
  }
  if (kind == CallKind::unloads_code || kind == CallKind::drops_code) {
    forget_functions();  // also while recording is off
  }
  const Guard guard;
  if (!guard.entered()) {
    lost(GPUPROF_LOSS_REENTRANT, 1);
    return;
  }
  if (!active()) {
    if (is_launch(kind) && wants(GPUPROF_OPTION_WINDOWS)) {
      pass(data);
    }
    return;
  }
  if (open_call.open && open_call.counted != 0) {
    end_counted_launch(open_call.counted);  // CUPTI did not report the end of the previous launch
  }
  note_outer_call(frame);
  open_call = {true, kind, domain, id, unique, false, 0, 0, {}, 0, 0, frame};
  if (!counting() && is_only_timed(kind)) {
    if (probing() && kind == CallKind::loads_code) {
      begin_load(data);
    }
    open_call.timed_from_ns = now_ns();
    return;
  }
  note_work();
  if (load_relaxed(&session().devices_named) == 0) {
    // Devices are emitted before the launch, because records of the first GPU work may follow within a millisecond.
    emit_devices();
  }
  if (counting()) {  // a recording that counts instructions records nothing else
    open_call.open = is_launch(kind);
    if (open_call.open) {
      open_call.counted = begin_counted_launch(data.context);
    } else if (kind == CallKind::drops_code) {
      read_counts_now(nullptr);
    } else if (kind == CallKind::unloads_code) {
      read_counts_now(data.context);
    }
  } else if (is_launch(kind)) {
    begin_launch(data);
  } else if (is_sync(kind) || kind == CallKind::memory) {
    stack_here(host_id(data));
    (is_sync(kind) ? open_call.start_ns : open_call.timed_from_ns) = now_ns();
  } else if (kind == CallKind::begins_capture) {
    note_capture(true);
  } else if (kind != CallKind::ends_capture) {
    begin_graph_call(data, &open_call);
    open_call.timed_from_ns = now_ns();
  }
}

CUresult result_of(const CUpti_CallbackData& data) {
  const auto* result = static_cast<const CUresult*>(data.functionReturnValue);  // cudaError_t has the same size
  return result == nullptr ? CUDA_SUCCESS : *result;
}

bool failed(const CUpti_CallbackData& data) {
  return result_of(data) != CUDA_SUCCESS;
}

void report_failure(const CUpti_CallbackData& data, uint64_t correlation) {
  const CUresult result = result_of(data);
  call_failed(correlation, {data.functionName, error_name(open_call.domain, result), result});
}

void end_sync(const CUpti_CallbackData& data) {
  if (failed(data)) {
    report_failure(data, host_id(data));
  }
  host_wait(host_id(data), open_call.start_ns, now_ns(), data.functionName);
  if (!failed(data)) {
    note_wait(data, open_call.kind);
  }
}

void end_launch(const CUpti_CallbackData& data) {
  if (failed(data) && !open_call.captured) {
    report_failure(data, id_of(data));
  }
  if (open_call.start_ns != 0) {
    gpuprof_call record = {};
    record.correlation = id_of(data);
    record.start_ns = open_call.start_ns;
    record.end_ns = now_ns();
    record.name_id = name_id(data.functionName);
    record.tid = thread_id();
    call(record);
  }
}

// Only allocating calls have taken their stack before.
void report_duration(const CUpti_CallbackData& data, uint64_t end_ns) {
  if (open_call.kind != CallKind::memory) {
    stack_here(host_id(data));
  }
  host_call(host_id(data), open_call.timed_from_ns, end_ns, data.functionName);
}

// Counts a launch in an exit handler that runs after the recording has ended. A driver call inside a runtime call is
// the same launch.
void count_late_launch(CallKind kind, const CUpti_CallbackData& data) {
  if (is_launch(kind) && !failed(data) && id_of(data) != last_launch) {
    last_launch = id_of(data);
    lost_after_end(1);
  }
}

void end_call(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  const auto is_this = [&](const OpenCall& call) {
    return call.open && call.correlation == id_of(data) && call.id == id && call.domain == domain;
  };
  for (uint32_t i = outer_count; i > 0; --i) {
    if (is_this(outer_calls[i - 1])) {
      open_call = outer_calls[i - 1];
      outer_count = i - 1;
      break;
    }
  }
  if (!is_this(open_call)) {
    if (ended()) {
      count_late_launch(kind_of(domain, id), data);
    }
    return;  // begin_call() has ignored this call
  }
  open_call.open = false;
  const uint64_t end_ns = open_call.timed_from_ns == 0 || outer_count > 0 ? 0 : now_ns();
  const bool tells_duration =
      end_ns != 0 && (is_slow(open_call.kind) || end_ns - open_call.timed_from_ns >= GPUPROF_LONG_CALL_NS);
  if (open_call.counted != 0) {
    end_counted_launch(open_call.counted);
    return;
  }
  if (open_call.range.generation != 0) {
    end_sampled_launch(data.context, open_call.range);
  }
  if ((open_call.kind == CallKind::ends_capture && !failed(data)) ||
      (open_call.kind == CallKind::begins_capture && failed(data))) {
    note_capture(false);
  }
  const bool launched = is_launch(open_call.kind);
  if (launched && (open_call.captured || failed(data))) {
    launch_ended(data.correlationId);
    if (probing()) {
      cancel_block_memory(id_of(data));
    }
  }
  if (open_call.kind == CallKind::loads_code && probing()) {
    end_load();
  }
  if (launched && open_call.start_ns == 0 && !failed(data) && !tells_duration) {
    return;
  }
  const Guard guard;
  if (!guard.entered()) {
    return;
  }
  if (launched) {
    end_launch(data);
  } else if (is_sync(open_call.kind)) {
    end_sync(data);
  } else if (open_call.kind == CallKind::memory && failed(data)) {
    report_failure(data, host_id(data));
  } else if (open_call.kind == CallKind::memory && data.functionName != nullptr &&
             strstr(data.functionName, "Managed") != nullptr) {
    // Requested here and not by the service thread, because pages may migrate before its next tick.
    enable_unified_memory();
  }
  if (tells_duration) {
    report_duration(data, end_ns);
  }
}

}  // namespace

void on_callback(void* /*user*/, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  const KeepErrno keep_errno;  // the thread's first use of thread-local data may allocate memory
  if (in_fork()) {             // CUDA cannot be used in a forked child
    return;
  }
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    on_resource_callback(id, *static_cast<const CUpti_ResourceData*>(data), &open_call);
    return;
  }
  if ((domain != CUPTI_CB_DOMAIN_DRIVER_API && domain != CUPTI_CB_DOMAIN_RUNTIME_API) || OwnCalls::in_progress()) {
    return;  // only in these two domains, `data` is a CUpti_CallbackData
  }
  const auto* call_data = static_cast<const CUpti_CallbackData*>(data);
  const bool entering = call_data->callbackSite == CUPTI_API_ENTER;
  if (concerns_graphs(kind_of(domain, id))) {
    store_relaxed(&session().graphs_seen, 1U);
  }
  if (finalizing()) {
    if (!entering) {
      const Guard guard;
      finalize_here();
    }
  } else if (entering) {
    begin_call(domain, id, *call_data, __builtin_frame_address(0));
  } else {
    end_call(domain, id, *call_data);
  }
}

}  // namespace gpuprof::injection::cupti
