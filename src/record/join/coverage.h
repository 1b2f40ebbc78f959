// What was seen, matched and missed: the numbers by which a profile can be trusted, kept for each source.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/event_sink.h"
#include "profile/records.h"
#include "record/join/stack_shape.h"

namespace gpuprof::record {

// As in profile/coverage.h, whose identity holds whatever a target has counted.
struct CoverageCounts {
  uint64_t launches = 0;
  uint64_t matched = 0;
  uint64_t captured = 0;
  uint64_t failed = 0;
  uint64_t unsampled = 0;
  uint64_t without_record = 0;
  uint64_t without_stack = 0;
  uint64_t without_launch = 0;
  uint64_t samples_without_launch = 0;
  uint64_t samples_foreign = 0;
  uint64_t outside_range = 0;
  uint64_t stack_whole = 0;      // of launches whose stack was walked by tables: reaches the thread's start, ...
  uint64_t stack_truncated = 0;  // ... or does not
  uint64_t stack_no_python = 0;  // in a process that runs Python

  void add(const CoverageCounts& other);
  // One COVERAGE record for each number that is not 0.
  void append_to(std::vector<profile::Coverage>& out, profile::ProcessId process) const;
};

class SourceCoverage {
 public:
  void launch_matched() { ++matched_; }  // the first GPU work of a launch that is known
  void orphan_matched() { ++orphans_; }  // the first of one that is not: its launch event was lost, or never made
  void without_launch() { ++without_launch_; }
  void without_stack() { ++without_stack_; }
  void samples_without_launch(uint64_t count) { samples_without_launch_ += count; }
  void samples_foreign(uint64_t count) { samples_foreign_ += count; }
  void outside() { ++outside_; }  // work outside of the range that is recorded, where the target could not tell
  void stack_walked(const StackShape& shape, uint64_t launches);  // by tables

  // `counters` are what the target has counted, as far as it is believed.
  [[nodiscard]] CoverageCounts sum_up(const backend::Counters& counters) const;

 private:
  uint64_t matched_ = 0;
  uint64_t orphans_ = 0;
  uint64_t without_launch_ = 0;
  uint64_t without_stack_ = 0;
  uint64_t outside_ = 0;
  uint64_t samples_without_launch_ = 0;
  uint64_t samples_foreign_ = 0;
  uint64_t whole_ = 0;
  uint64_t truncated_ = 0;
  uint64_t no_python_ = 0;
};

}  // namespace gpuprof::record
