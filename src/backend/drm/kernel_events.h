// What this kernel and its drivers offer of what the BPF programs need, by their type information.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuprof::backend::drm {

// Names of tracepoints, which have changed with Linux 6.17.
struct SchedulerEvents {
  const char* queued = nullptr;
  const char* run = nullptr;
  const char* done = nullptr;
};

struct KernelEvents {
  std::optional<SchedulerEvents> scheduler;  // of the drivers that use the kernel's
  bool i915 = false;
  // What jobs are handed to, by the drivers' own numbers. Jobs are seen without them, too.
  bool xe_exec_queues = false;
  bool i915_contexts = false;
  bool xe_batches = false;  // and the kernels in what is handed over
  bool i915_batches = false;
  std::string lacks;  // what is loaded, but cannot be used; empty: nothing

  [[nodiscard]] std::string text() const;  // for doctor
};

enum class Hook { tracepoint, function };

// Whether there is a hook of this name one of whose arguments, counted from 0, points to such a struct.
using Has = std::function<bool(Hook hook, std::string_view name, std::string_view pointed, uint16_t argument)>;

// The error says which ones are missing.
Result<SchedulerEvents> choose_scheduler_events(const Has& has);
Status check_i915_events(const Has& has);
Status check_i915_contexts(const Has& has);
Status check_xe_exec_queues(const Has& has);

// Those of this kernel; the error says why there are none. `root` is in front of /sys.
Result<KernelEvents> find_kernel_events(const std::string& root = "");

}  // namespace gpuprof::backend::drm
