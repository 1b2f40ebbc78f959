// What this kernel and its drivers offer of what the BPF programs need, by their type information.
#pragma once

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
  std::string lacks;  // what is loaded, but cannot be used; empty: nothing

  [[nodiscard]] std::string text() const;  // for doctor
};

// What the module of this name, or the kernel itself, has: a tracepoint, or a function where `is_function`.
using Has = std::function<bool(std::string_view name, bool is_function)>;

// The error says which ones are missing.
Result<SchedulerEvents> choose_scheduler_events(const Has& has);
Status check_i915_events(const Has& has);

// Those of this kernel; the error says why there are none. `root` is in front of /sys.
Result<KernelEvents> find_kernel_events(const std::string& root = "");

}  // namespace gpuprof::backend::drm
