#include "level_zero/vendor.h"

#include <cstdio>
#include <cstring>

#include "base/guard.h"
#include "base/monotonic_clock.h"
#include "ipc/emit.h"
#include "level_zero/code/modules.h"
#include "level_zero/commands.h"
#include "level_zero/devices.h"
#include "level_zero/executions.h"
#include "level_zero/handle_queries.h"
#include "level_zero/objects.h"
#include "level_zero/outstanding.h"
#include "level_zero/own_events.h"
#include "level_zero/stalls/stall_sampling.h"
#include "level_zero/tracer.h"
#include "runtime/lifecycle.h"
#include "runtime/recording.h"
#include "runtime/service_thread.h"

namespace gpuprof::injection::level_zero {
namespace {

constexpr uint32_t kMaxComponents = 16;

void report_loader_version() {
  const auto get_versions = reinterpret_cast<decltype(&zelLoaderGetVersions)>(find_function("zelLoaderGetVersions"));
  zel_component_version_t components[kMaxComponents];
  size_t count = 0;
  if (get_versions == nullptr || get_versions(&count, nullptr) != ZE_RESULT_SUCCESS || count > kMaxComponents ||
      get_versions(&count, components) != ZE_RESULT_SUCCESS) {
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const zel_version_t& version = components[i].component_lib_version;
    if (strncmp(components[i].component_name, "loader", ZEL_COMPONENT_STRING_SIZE) == 0) {
      char text[64];
      snprintf(text, sizeof(text), "%d.%d.%d", version.major, version.minor, version.patch);
      meta("level_zero.loader", text);
    }
  }
}

bool subscribe(bool attached) {
  if (const char* lacks = bind(); lacks != nullptr) {
    char reason[160];
    snprintf(reason, sizeof(reason), "the Level Zero loader has no %s: version 1.8 or later is needed", lacks);
    disable(reason);
    return false;
  }
  report_loader_version();
  begin_code();
  begin_stalls();
  if (attached) {
    enable_handle_queries();
  }
  return start_tracer(attached);
}

// Detaches. If library events are in the target's lists, tracing continues, so that the lists can still be tracked.
void detach() {
  const Guard guard;
  wait_for_outstanding();
  end_stalls();
  const Locked locked;
  if (locked.held() && destroy_unused_events()) {
    stop_tracer();
  }
}

// Resets all state, because a forked child has neither the parent's devices nor its service thread.
void in_forked_child() {
  forget_objects();
  forget_events();
  forget_outstanding();
  forget_executions();
  forget_devices();
  forget_modules();
  forget_stalls();
}

// Sets a limit for sampling: after the wait for the library's threads, the driver may be gone and must not be called.
void exiting(bool /*last*/) {
  stalls_at_exit(now_ns() + kExitWaitNs);
}

void flush(bool last) {
  const Guard guard;  // callbacks must ignore the library's calls on this thread
  report_finished(UINT32_MAX, true);
  report_executions(true);
  flush_code();
  if (last) {
    const uint64_t begin = now_ns();
    wait_for_outstanding();
    note_exit_wait(now_ns() - begin);
    end_stalls();
  } else if (flush_requested()) {
    flush_stalls();
  }
}

bool set_recording(bool on) {
  return on;
}

void nothing() {}

constexpr Vendor::Flush kFlush = {
    .library = "Level Zero",
    .pace_variable = nullptr,
    .flush = flush,
    .first_work = nothing,
    .set_recording = set_recording,
    .complete_pause = nullptr,
    .note_unwanted = nullptr,
    .totals = nothing,
    .detach = detach,
};

constexpr Vendor kVendor = {
    .name = "level_zero",
    .load = nullptr,
    .subscribe = subscribe,
    .forked = in_forked_child,
    .exiting = exiting,
    .works_in_forked_child = false,
    .flush = &kFlush,
};

}  // namespace

const Vendor& vendor() {
  return kVendor;
}

}  // namespace gpuprof::injection::level_zero
