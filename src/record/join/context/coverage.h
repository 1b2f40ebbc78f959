// Counts seen, matched and missing launches and samples of each source. Readers judge a profile by these numbers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backend/event_sink.h"
#include "profile/coverage.h"
#include "profile/records.h"
#include "record/join/context/stack_shape.h"

namespace gpuprof::record {

// The counters of profile/coverage.h. Their sum rule (launches == matched + ...) holds whatever a target reports.
class CoverageCounts {
 public:
  uint64_t& operator[](profile::CoverageCount what) { return counts_[static_cast<size_t>(what)]; }
  uint64_t operator[](profile::CoverageCount what) const { return counts_[static_cast<size_t>(what)]; }

  void add(const CoverageCounts& other);
  // Appends one COVERAGE record for each nonzero counter.
  void append_to(std::vector<profile::Coverage>& out, profile::ProcessId process) const;

 private:
  std::array<uint64_t, profile::kCoverageCounts> counts_{};
};

class SourceCoverage {
 public:
  // Count `matched` only for the first GPU work of a known launch.
  void count(profile::CoverageCount what, uint64_t count = 1) { seen_[what] += count; }
  // Counts the first GPU work of an unknown launch. The launch event was lost or never written.
  void orphan_matched() { ++orphans_; }
  // Counts `launches` launches with a stack of this shape that was walked with unwind tables.
  void stack_walked(const StackShape& shape, uint64_t launches);

  // `counters` are the target's counters, already validated (see growth() in join_counters.cpp).
  [[nodiscard]] CoverageCounts sum_up(const backend::Counters& counters) const;

 private:
  CoverageCounts seen_;
  uint64_t orphans_ = 0;
};

}  // namespace gpuprof::record
