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

enum class Hook { tracepoint, function };

// Whether there is a hook of this name whose first argument points to such a struct.
using Has = std::function<bool(Hook hook, std::string_view name, std::string_view first)>;

// The error says which ones are missing.
Result<SchedulerEvents> choose_scheduler_events(const Has& has);
Status check_i915_events(const Has& has);

// Those of this kernel; the error says why there are none. `root` is in front of /sys.
Result<KernelEvents> find_kernel_events(const std::string& root = "");

}  // namespace gpuprof::backend::drm
