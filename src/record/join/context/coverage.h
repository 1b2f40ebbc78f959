// What was seen, matched and missed: the numbers by which a profile can be trusted, kept for each source.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backend/event_sink.h"
#include "profile/coverage.h"
#include "profile/records.h"
#include "record/join/context/stack_shape.h"

namespace gpuprof::record {

// As in profile/coverage.h, whose identity holds whatever a target has counted.
class CoverageCounts {
 public:
  uint64_t& operator[](profile::CoverageCount what) { return counts_[static_cast<size_t>(what)]; }
  uint64_t operator[](profile::CoverageCount what) const { return counts_[static_cast<size_t>(what)]; }

  void add(const CoverageCounts& other);
  // One COVERAGE record for each number that is not 0.
  void append_to(std::vector<profile::Coverage>& out, profile::ProcessId process) const;

 private:
  std::array<uint64_t, profile::kCoverageCounts> counts_{};
};

class SourceCoverage {
 public:
  // `matched`: the first GPU work of a launch that is known.
  void count(profile::CoverageCount what, uint64_t count = 1) { seen_[what] += count; }
  // The first GPU work of a launch that is not known: its event was lost, or never made.
  void orphan_matched() { ++orphans_; }
  // So many launches have a stack of this shape, which was walked by tables.
  void stack_walked(const StackShape& shape, uint64_t launches);

  // `counters` are what the target has counted, as far as it is believed.
  [[nodiscard]] CoverageCounts sum_up(const backend::Counters& counters) const;

 private:
  CoverageCounts seen_;
  uint64_t orphans_ = 0;
};

}  // namespace gpuprof::record
