// Finds out from type information (BTF) which hooks for BPF programs the Linux kernel and its GPU drivers have.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuprof::backend::drm {

struct SchedulerEvents {
  const char* queued = nullptr;
  const char* run = nullptr;
  const char* done = nullptr;
};

struct KernelEvents {
  std::optional<SchedulerEvents> scheduler;  // for drivers that use the kernel's GPU scheduler
  bool i915 = false;
  // Optional: whether jobs name their exec queue (xe) or context (i915).
  bool xe_exec_queues = false;
  bool i915_contexts = false;
  bool xe_batches = false;  // whether the kernels in submitted batches can be read
  bool i915_batches = false;
  std::string lacks;  // what the loaded drivers lack; may be empty

  [[nodiscard]] std::string text() const;  // for doctor
};

enum class Hook { tracepoint, function };

// Returns whether a hook `name` exists whose argument (counted from 0) points to a struct `pointed`.
using Has = std::function<bool(Hook hook, std::string_view name, std::string_view pointed, uint16_t argument)>;

Result<SchedulerEvents> choose_scheduler_events(const Has& has);
Status check_i915_events(const Has& has);
Status check_i915_contexts(const Has& has);
Status check_xe_exec_queues(const Has& has);

// Finds the events of this kernel. The error says why there are none. `root` is put before /sys, for tests.
Result<KernelEvents> find_kernel_events(const std::string& root = "");

}  // namespace gpuprof::backend::drm
