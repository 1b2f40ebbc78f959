#include "cupti/subscriber.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/atomics.h"
#include "base/monotonic_clock.h"
#include "cupti/activity/buffers.h"
#include "cupti/activity/host_records.h"
#include "cupti/callbacks.h"
#include "cupti/calls.h"
#include "cupti/devices.h"
#include "cupti/event_handlers.h"
#include "cupti/graphs.h"
#include "cupti/kernel_names.h"
#include "cupti/probes/block_memory.h"
#include "cupti/probes/block_probes.h"
#include "cupti/sampling/exact_launches.h"
#include "cupti/session.h"
#include "cupti/shared.h"
#include "cupti/windows/passed_launches.h"
#include "cupti/windows/unfinished_launches.h"
#include "ipc/emit.h"
#include "runtime/launch.h"
#include "runtime/lifecycle.h"
#include "runtime/service_thread.h"

namespace gpuprof::injection::cupti {
namespace {

struct Kind {
  CUpti_ActivityKind kind;
  bool required;
};
// These activity kinds are always enabled. GRAPH_TRACE is enabled on request; host_records.h enables unified memory.
constexpr Kind kKinds[] = {{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true},
                           {CUPTI_ACTIVITY_KIND_MEMCPY, true},
                           {CUPTI_ACTIVITY_KIND_MEMCPY2, true},
                           {CUPTI_ACTIVITY_KIND_MEMSET, true},
                           {CUPTI_ACTIVITY_KIND_MEMORY2, false}};

enum Finalize : uint32_t {
  kNotWanted = 0,
  kWanted = 1,  // a detach is requested, so callbacks have no effect
  kArmed = 2,   // CUPTI is detached at the end of the next call
  kRunning = 3,
  kDone = 4
};

// After a pause, kernels of the last launches may still run. CUPTI is detached once their records have come. Launches
// without a record for twice this time are no longer waited for, even if there were windows in that time.
constexpr uint64_t kUnfinishedNs = 10'000'000'000;
// Without GPUPROF_OPTION_WINDOWS, it is not known which launches are unfinished.
constexpr uint64_t kPauseNs = 200'000'000;

CUpti_SubscriberHandle subscriber = nullptr;
// Used only by the thread that calls set_recording():
bool enabled = false;        // kinds and callbacks are on
bool enabled_early = false;  // they were enabled before the first context, so CUPTI cannot switch them off and on again
uint64_t paused_since = 0;   // 0: not paused, or the pause has been completed
uint64_t forgot_ns = 0;      // time of the last call of forget_old_launches()
// True on the thread that requested the detach. This thread makes a driver call, and CUPTI detaches during that call,
// which takes about 2 s.
constinit thread_local bool may_finalize = false;
// Atomic. 1: any thread may detach, because CUPTI did not report the driver call of the requesting thread.
uint32_t all_may_finalize = 0;

uint64_t timestamp() {
  return now_ns();
}

void enable_calls(CUpti_CallbackDomain domain, bool on) {
  for (CUpti_CallbackId id = 1; id < kMaxCallbackId; ++id) {
    if (kind_of(domain, id) != CallKind::other) {
      session().api.enable_callback(on ? 1 : 0, subscriber, domain, id);
    }
  }
}

// Parses GPUPROF_CUPTI_DOMAINS=driver|runtime|both|none. Default: `driver`. Its callbacks report every launch once,
// because a runtime call passes through the driver with the same id. `runtime` misses programs that use the driver API
// directly. `none` measures the cost of CUPTI's activity records alone: no callbacks, no stacks.
struct Domains {
  bool driver = true;
  bool runtime = false;
};

Domains domains() {
  const char* text = secure_getenv(GPUPROF_ENV_CUPTI_DOMAINS);
  if (text == nullptr || strcmp(text, "driver") == 0) {
    return {};
  }
  if (strcmp(text, "none") == 0) {
    return {false, false};
  }
  return {strcmp(text, "runtime") != 0, true};
}

void enable_all_calls(bool on) {
  const Domains chosen = domains();
  if (chosen.driver) {
    enable_calls(CUPTI_CB_DOMAIN_DRIVER_API, on);
  }
  if (chosen.runtime) {
    enable_calls(CUPTI_CB_DOMAIN_RUNTIME_API, on);
  }
  if (chosen.driver || chosen.runtime) {
    enable_graph_nodes(on);
  }
}

// Classifies the functions of the chosen domains. Returns false if this CUPTI has no launch function that gpuprof
// knows.
bool learn_all_calls() {
  const Domains chosen = domains();
  size_t known = 0;
  known += chosen.driver ? learn_calls(CUPTI_CB_DOMAIN_DRIVER_API) : 0;
  known += chosen.runtime ? learn_calls(CUPTI_CB_DOMAIN_RUNTIME_API) : 0;
  if (!chosen.driver && !chosen.runtime) {
    note_work();  // Requests a flush. Usually the callbacks of launches do this, but they are disabled here.
    return true;
  }
  return known > 0;
}

void give_up(const char* what, CUptiResult result) {
  char reason[200];
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) {
    disable(
        "the NVIDIA driver lets only administrators profile (CUPTI error 35): run as root, or have the driver loaded "
        "with NVreg_RestrictProfilingToAdminUsers=0");
    return;
  }
  snprintf(reason, sizeof(reason), "%s: %s (CUPTI error %d)", what, result_text(session().api, result), result);
  disable(reason);
}

// Makes CUPTI take its timestamps from CLOCK_MONOTONIC, if it can. Call it before the first activity kind is enabled.
void choose_clock(bool again) {
  Session& s = session();
  s.convert_clock = s.shared != nullptr || s.api.register_timestamp == nullptr ||
                    s.api.register_timestamp(timestamp) != CUPTI_SUCCESS;
  if (s.convert_clock) {
    measure_clock_offset();
  }
  if (!again) {
    meta("cupti.timestamps", s.convert_clock ? "offset" : "callback");
  }
}

// Requests CUPTI's queue and submit times. CUPTI guarantees them only if they are requested before CUDA starts; later
// it may refuse.
void choose_latency(bool again) {
  const Api& api = session().api;
  if (!wants(GPUPROF_OPTION_LATENCY)) {
    return;
  }
  const bool can = api.enable_latency != nullptr && session().shared == nullptr;
  const CUptiResult result = can ? api.enable_latency(1) : CUPTI_ERROR_NOT_SUPPORTED;
  if (!again) {
    meta("cupti.latency", result == CUPTI_SUCCESS ? "on" : result_text(api, result));
  }
}

CUptiResult enable_kinds() {
  if (wants(GPUPROF_OPTION_COUNTS)) {
    return CUPTI_SUCCESS;  // CUPTI counts nothing while it records work
  }
  for (const Kind& kind : kKinds) {
    const CUptiResult result = enable_kind(kind.kind);
    if (result != CUPTI_SUCCESS && kind.required) {
      return result;
    }
  }
  if (load_relaxed(&session().unified_memory)) {
    enable_kind(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
  }
  return CUPTI_SUCCESS;
}

// CUPTI takes 2 s to disable the counters of unified memory. They cost only programs that use such memory, so a pause
// keeps them.
void disable_kinds(bool pause) {
  for (const Kind& kind : kKinds) {
    disable_kind(kind.kind);
  }
  if (!pause && load_relaxed(&session().unified_memory)) {
    disable_kind(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
  }
}

// Chooses GRAPH_TRACE or records of single nodes, once per recording: a graph that was launched before GRAPH_TRACE is
// enabled crashes at its next launch.
CUptiResult choose_graphs(bool again) {
  Session& s = session();
  s.whole_graphs =
      !again && wants(GPUPROF_OPTION_WHOLE_GRAPHS) && !wants(GPUPROF_OPTION_ATTACHED) && !wants(GPUPROF_OPTION_WINDOWS);
  if (!again) {
    meta("cupti.graphs", s.whole_graphs ? "whole" : "node");
  }
  return s.whole_graphs ? enable_kind(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) : CUPTI_SUCCESS;
}

CUptiResult enable() {
  const CUptiResult result = enable_kinds();
  if (result == CUPTI_SUCCESS) {
    enabled_early = enabled_early || load_relaxed(&session().contexts) == 0;
    add_relaxed(&session().call_epoch, 1U);
    set_tracing(true);
    enable_all_calls(true);
    enabled = true;
  }
  return result;
}

// Does everything that needs the subscription. `again`: CUPTI was detached meanwhile. Returns the name of the failed
// step, or null.
const char* configure(bool again, CUptiResult* result) {
  choose_clock(again);
  choose_latency(again);
  *result = register_buffers();
  if (*result != CUPTI_SUCCESS) {
    return "CUPTI rejects the activity buffers";
  }
  *result = choose_graphs(again);
  if (!again && !learn_all_calls()) {
    *result = CUPTI_ERROR_INVALID_OPERATION;
    return "CUPTI offers no launch callbacks";
  }
  begin_handlers(again);
  enable_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, true);
  if (*result == CUPTI_SUCCESS && active() &&
      (!wants(GPUPROF_OPTION_WINDOWS) || load_relaxed(&session().contexts) != 0)) {
    *result = enable();
  }
  return *result == CUPTI_SUCCESS ? nullptr : "CUPTI cannot record GPU activity";
}

// Returns whether CUPTI may detach. If it has recorded a graph, a replay by another thread after the detach ends with
// "unspecified launch failure" (CUDA 13.0), so CUPTI must stay. Without callbacks of the driver, graphs are not seen.
// If CUPTI has several subscribers, it also stays for the others.
bool may_detach() {
  return domains().driver && session().shared == nullptr && load_relaxed(&session().graphs_seen) == 0;
}

// Ends the subscription. CUPTI stays in the process, but calls nothing.
void leave_cupti() {
  enable_all_calls(false);
  session().api.unsubscribe(subscriber);
  subscriber = nullptr;
  meta("note.cupti_stays",
       session().shared == nullptr
           ? "CUPTI stays in the process, because the process uses CUDA graphs: launches may take up "
             "to 1 us longer"
           : "CUPTI stays in the process, because other tools may use it: launches may take up to 1 us "
             "longer");
  session().shared = nullptr;
  store_release(&session().finalize, uint32_t{kDone});
}

// Enables the callbacks of all driver calls, so that CUPTI can detach at the end of the next driver call of any kind.
void enable_every_call() {
  for (CUpti_CallbackId id = 1; id < kMaxCallbackId; ++id) {
    const char* name = nullptr;
    if (session().api.get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) == CUPTI_SUCCESS) {
      session().api.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
    }
  }
}

// Adds the time since `begun` to the overhead. A switch by the user is not a cost of what was recorded.
void note_switch(uint64_t begun) {
  if (wants(GPUPROF_OPTION_WINDOWS)) {
    add_handover(now_ns() - begun);
  }
}

// Subscribes alone if possible, because only then can CUPTI be detached, and has all records. `holder`: see
// subscribe_shared().
CUptiResult open_subscription(char* holder) {
  holder[0] = '\0';
  session().shared = nullptr;
  if (wants_sharing() && subscribe_shared(&subscriber, on_callback, holder) == CUPTI_SUCCESS) {
    return CUPTI_SUCCESS;
  }
  const CUptiResult result = session().api.subscribe(&subscriber, on_callback, nullptr);
  return result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED &&
                 subscribe_shared(&subscriber, on_callback, holder) == CUPTI_SUCCESS
             ? CUPTI_SUCCESS
             : result;
}

void report_conflict(const char* holder) {
  char reason[256];
  snprintf(reason, sizeof(reason), "another profiler uses CUPTI in this process (%s), and only one can: run without it",
           holder[0] != '\0' ? holder
                             : "torch.profiler, Nsight, DCGM, a debugger, or the program's own CUDA_INJECTION64_PATH "
                               "library");
  disable(reason);
}

// `again`: after a pause, in which CUPTI was detached.
bool subscribe(bool again) {
  const Api& api = session().api;
  store_relaxed(&session().ending, 0U);
  store_relaxed(&session().unified_asked, 0U);
  store_relaxed(&session().unified_memory, false);
  // CUPTI does not report conditional nodes created while it is not subscribed. So some may exist.
  store_relaxed(&session().conditions, again || wants(GPUPROF_OPTION_ATTACHED) ? 1U : 0U);
  char holder[kHolderBytes];
  CUptiResult result = open_subscription(holder);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && again) {
    return false;  // another profiler uses the pause
  }
  store_relaxed(&session().finalize, uint32_t{kNotWanted});
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    report_conflict(holder);
    return false;
  }
  if (result != CUPTI_SUCCESS) {
    give_up("CUPTI refuses the subscription", result);
    return false;
  }
  if (session().shared != nullptr && !again) {
    meta("note.cupti_shared",
         "CUPTI has several subscribers: no queue times (--latency) and no page migrations are recorded");
  }
  store_relaxed(&session().subscriptions, again ? load_relaxed(&session().subscriptions) + 1 : 0U);
  forget_launches();
  forget_attached_launches();
  if (const char* failure = configure(again, &result); failure != nullptr) {
    give_up(failure, result);
    disable_kinds(false);
    disable_kind(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    api.unsubscribe(subscriber);
    return false;
  }
  return true;
}

// Returns whether kernels are recorded now.
bool resume() {
  Session& s = session();
  const bool paused = load_relaxed(&s.paused) != 0;
  if (enabled && !paused) {
    return true;
  }
  if (load_relaxed(&s.contexts) == 0 && wants(GPUPROF_OPTION_WINDOWS)) {
    return false;  // see enabled_early
  }
  const uint64_t begun = now_ns();
  if (finalized()) {
    if (!subscribe(true)) {
      return false;
    }
    enable_unified_memory();
  } else {
    forget_captures();
    if (const CUptiResult result = enable(); result != CUPTI_SUCCESS) {
      give_up("CUPTI cannot record GPU activity", result);
    }
  }
  if (paused) {
    store_relaxed(&s.paused, 0U);
    pause_handlers(false);
  }
  paused_since = 0;
  note_switch(begun);
  return true;
}

void pause() {
  Session& s = session();
  if (load_relaxed(&s.paused) != 0) {
    return;
  }
  store_relaxed(&s.paused, 1U);
  pause_handlers(true);
  // While recording is off, CUPTI does not report changes of graphs. So conditional nodes may exist.
  store_relaxed(&s.conditions, 1U);
  distrust_node_names();
  // If CUPTI can neither be detached nor switched on again, it stays on, and what it records is left out.
  const bool stays = wants(GPUPROF_OPTION_COUNTS) || s.whole_graphs || (enabled_early && !may_detach());
  if (enabled && !stays) {
    disable_kinds(true);
    enabled = false;
    paused_since = now_ns();
  }
  set_tracing(false);
}

}  // namespace

bool enable_resource(CUpti_CallbackIdResource event, bool on) {
  return session().api.enable_callback(on ? 1 : 0, subscriber, CUPTI_CB_DOMAIN_RESOURCE, event) == CUPTI_SUCCESS;
}

bool subscribe() {
  store_relaxed(&session().paused, 0U);
  store_relaxed(&session().contexts, wants(GPUPROF_OPTION_ATTACHED) ? 1U : 0U);
  enabled = false;
  enabled_early = false;
  paused_since = 0;
  if (wants(GPUPROF_OPTION_WINDOWS)) {
    begin_passed(wants(GPUPROF_OPTION_ATTACHED));
  }
  return subscribe(false);
}

bool set_recording(bool on) {
  if (finalizing()) {
    return false;
  }
  if (on) {
    return resume();
  }
  pause();
  return false;
}

bool complete_pause() {
  if (paused_since == 0) {
    return true;
  }
  const bool windows = wants(GPUPROF_OPTION_WINDOWS);
  if (!may_detach()) {
    if (windows && counts_passed()) {
      meta("note.cupti_stays_between_windows",
           "CUPTI stays in the process between the windows of --max-overhead, because the process uses CUDA graphs: "
           "launches of graphs take longer all the time, and neither the limit nor the stated overhead includes this");
      end_passed();  // without callbacks, launches between windows could not be counted
    } else if (!windows) {
      enable_all_calls(false);
    }
    paused_since = 0;
    return true;
  }
  const uint64_t begun = now_ns();
  if (begun - forgot_ns >= kUnfinishedNs) {
    forget_old_launches();
    forgot_ns = begun;
  }
  if (windows ? any_unfinished() : begun - paused_since < kPauseNs) {
    session().api.flush_all(0);
    count_dropped();
    return false;
  }
  request_finalize(false);
  finish_finalize();
  report_passed(false);
  note_switch(begun);
  paused_since = 0;
  return true;
}

void request_finalize(bool last) {
  Session& s = session();
  if (!swap_if(&s.finalize, kNotWanted, kWanted)) {
    return;
  }
  end_handlers(false);
  disable_kinds(false);
  if (s.whole_graphs) {
    disable_kind(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  }
  if (last) {
    store_relaxed(&s.ending, 1U);
  }
  s.api.flush_all(last ? uint32_t{CUPTI_ACTIVITY_FLAG_FLUSH_FORCED} : 0);
  count_dropped();
  if (probing()) {
    read_blocks(nullptr, UINT64_MAX);  // also sends the work of the records that have just come
  }
  enabled = false;
  enabled_early = false;
  if (!may_detach()) {
    leave_cupti();
    return;
  }
  may_finalize = true;
  store_relaxed(&all_may_finalize, 0U);
  enable_every_call();
  store_release(&s.finalize, uint32_t{kArmed});
}

bool finalizing() {
  const uint32_t stage = load_relaxed(&session().finalize);
  return stage != kNotWanted && stage != kDone;
}

bool finalized() {
  return load_acquire(&session().finalize) == kDone;
}

bool finish_finalize() {
  driver_version();
  if (!finalized()) {
    store_relaxed(&all_may_finalize, 1U);
    const uint64_t deadline = now_ns() + GPUPROF_LEAVE_WAIT_NS;
    while (!finalized() && now_ns() < deadline) {
      const timespec wait = {0, 10'000'000};
      nanosleep(&wait, nullptr);
    }
  }
  return finalized();
}

void finalize_here() {
  Session& s = session();
  if ((!may_finalize && load_relaxed(&all_may_finalize) == 0) || !swap_if(&s.finalize, kArmed, kRunning)) {
    return;
  }
  if (s.api.finalize != nullptr) {
    s.api.finalize();
  } else {
    s.api.unsubscribe(subscriber);
  }
  subscriber = nullptr;
  store_release(&s.finalize, uint32_t{kDone});
}

}  // namespace gpuprof::injection::cupti
