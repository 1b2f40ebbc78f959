// Finds out which hooks the Linux kernel and its GPU drivers have for the BPF programs. Reads their type information
// (BTF).
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
  std::optional<SchedulerEvents> scheduler;  // events of drivers that use the kernel's GPU scheduler
  bool i915 = false;
  // Whether a job's exec queue (xe) or context (i915) can be read. Recording works without it.
  bool xe_exec_queues = false;
  bool i915_contexts = false;
  bool xe_batches = false;  // whether the kernels of submitted batches can be read
  bool i915_batches = false;
  std::string lacks;  // says what the loaded drivers lack; may be empty

  [[nodiscard]] std::string text() const;
};

enum class Hook { tracepoint, function };

// Returns whether the hook `name` exists, and its argument number `argument`, counted from 0, points to a struct
// `pointed`.
using Has = std::function<bool(Hook hook, std::string_view name, std::string_view pointed, uint16_t argument)>;

Result<SchedulerEvents> choose_scheduler_events(const Has& has);
Status check_i915_events(const Has& has);
Status check_i915_contexts(const Has& has);
Status check_xe_exec_queues(const Has& has);

// Finds the events of the running kernel. The error says why it has none. Tests put `root` before /sys.
Result<KernelEvents> find_kernel_events(const std::string& root = "");

}  // namespace gpuprof::backend::drm
