// What the parts of the join share: how it is to be done, the time, and the numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "record/join/context/options.h"
#include "record/join/context/tally.h"

namespace gpuprof::record {

inline constexpr size_t kMaxTimelineLines = 4'000'000;  // of one kind, that wait for a slow disk

struct JoinContext {
  explicit JoinContext(JoinOptions wanted) : options(std::move(wanted)), now_ns(options.clock()) {}

  [[nodiscard]] MemoryBudget& memory() const { return *options.memory; }
  [[nodiscard]] uint64_t slice_of(uint64_t ns) const {
    return ns <= options.start_ns ? 0 : (ns - options.start_ns) / options.interval_ns;
  }
  // Times of calls are a target's word: later than now they would never grow old.
  [[nodiscard]] uint64_t believed(uint64_t call_ns) const {
    constexpr uint64_t kSlackNs = 1'000'000'000;
    return call_ns < now_ns + kSlackNs ? call_ns : now_ns + kSlackNs;
  }

  JoinOptions options;
  uint64_t now_ns;  // as of the last turn
  Tally tally;
};

}  // namespace gpuprof::record
