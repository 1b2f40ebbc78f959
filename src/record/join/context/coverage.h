// Counts the seen, matched and missing launches and samples of each source. These numbers show how complete a profile
// is.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backend/event_sink.h"
#include "profile/coverage.h"
#include "profile/records.h"
#include "record/join/context/stack_shape.h"

namespace gpuprof::record {

// The counters of profile/coverage.h. Their rule (launches == matched + ...) holds, whatever a target reports.
class CoverageCounts {
 public:
  uint64_t& operator[](profile::CoverageCount what) { return counts_[static_cast<size_t>(what)]; }
  uint64_t operator[](profile::CoverageCount what) const { return counts_[static_cast<size_t>(what)]; }

  void add(const CoverageCounts& other);
  void append_to(std::vector<profile::Coverage>& out, profile::ProcessId process) const;

 private:
  std::array<uint64_t, profile::kCoverageCounts> counts_{};
};

class SourceCoverage {
 public:
  // Counts `what`. Call it with `matched` only for the first GPU work of a known launch.
  void count(profile::CoverageCount what, uint64_t count = 1) { seen_[what] += count; }
  // Counts the first GPU work of a launch whose event was lost or never written.
  void orphan_matched() { ++orphans_; }
  // Counts a launch that failed just before or after a window.
  void failed_between_windows() {
    count(profile::CoverageCount::between_windows);
    ++failed_outside_;
  }
  // Counts a launch without GPU work that has a row in the profile.
  void has_no_work_row() { ++no_work_rows_; }
  [[nodiscard]] uint64_t no_work_rows() const { return no_work_rows_; }
  // Counts launches whose stack has this shape and was walked by unwind tables.
  void stack_walked(const StackShape& shape, uint64_t launches);

  // `counters` are the target's counters. The caller has validated them (see growth() in join_counters.cpp).
  [[nodiscard]] CoverageCounts sum_up(const backend::Counters& counters) const;

 private:
  CoverageCounts seen_;
  uint64_t orphans_ = 0;
  uint64_t failed_outside_ = 0;
  uint64_t no_work_rows_ = 0;
};

}  // namespace gpuprof::record
