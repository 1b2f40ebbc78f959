// Holds the state that all parts of the join share: options, current time and counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "record/join/context/join_counters.h"
#include "record/join/context/options.h"

namespace gpuprof::record {

// Limit on the unwritten lines of each kind: calls, ranges and events.
inline constexpr size_t kMaxTimelineLines = 4'000'000;

struct JoinContext {
  explicit JoinContext(JoinOptions wanted) : options(std::move(wanted)), now_ns(options.clock()) {
    if (options.attach_pid != 0) {
      attached.insert(options.attach_pid);
    }
  }

  [[nodiscard]] MemoryBudget& memory() const { return *options.memory; }
  [[nodiscard]] uint64_t slice_of(uint64_t ns) const {
    return ns <= options.start_ns ? 0 : options.grid.slice_at(ns - options.start_ns);
  }
  // Limits the time of a call to now + 1 s. Targets write these times, and a launch in the future would never expire.
  [[nodiscard]] uint64_t clamped_call_time(uint64_t call_ns) const {
    constexpr uint64_t kSlackNs = 1'000'000'000;
    return call_ns < now_ns + kSlackNs ? call_ns : now_ns + kSlackNs;
  }

  JoinOptions options;
  // The process of record -p, or the processes into which the library was injected while they ran.
  std::set<uint32_t> attached;
  uint64_t now_ns;  // CLOCK_MONOTONIC at the last poll iteration
  // Number of entries of KernelTimes and LoadedKernels that lookups have compared so far. Limits the work for samples.
  uint64_t compared = 0;
  JoinCounters counters;
};

}  // namespace gpuprof::record
