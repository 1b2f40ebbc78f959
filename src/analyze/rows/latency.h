// Launch latencies of a profile, grouped for a report: histograms and percentiles.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/paths/call_path.h"
#include "analyze/paths/stack_view.h"
#include "analyze/rows/aggregate.h"

namespace gpuprof::analyze {

inline constexpr size_t kPhases = 4;  // of profile::Phase

// What is known of the latencies of one phase. Percentiles are the upper ends of their buckets, and never more than
// the maximum: at most an eighth too high.
struct LatencyStats {
  uint64_t count = 0;
  uint64_t sum_ns = 0;  // stays at the greatest number where it does not fit 64 bits
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t p50_ns = 0;
  uint64_t p90_ns = 0;
  uint64_t p99_ns = 0;
  std::vector<profile::Latency::Bucket> buckets;  // ascending; see profile/latency_bucket.h
};

// One kernel or copy, or one together with the call path that launched it.
struct LatencyLine {
  std::string_view work;     // texts are those of the rows and of `texts`
  std::string_view process;  // of a call path
  CallPath path;             // CPU frames, root first; of a call path
  std::shared_ptr<WorkPaths> texts;
  std::array<LatencyStats, kPhases> phases;  // by profile::Phase

  // Launches that any phase is known for.
  [[nodiscard]] uint64_t count() const;
};

struct LatencyOptions {
  bool paths = false;                                        // lines for call paths, not for work
  size_t top = 0;                                            // at most so many lines; 0: all
  std::function<bool(const std::string&)> wanted = nullptr;  // by the work's name; null: all
  StackOptions stacks;                                       // of call paths
};

// Lines with the longest sum of call_to_start first (of all phases, where that is not known). `rows` were read with
// AggregateOptions::latency. `trimmed`, where given, is set.
std::vector<LatencyLine> latency_lines(const Aggregate& rows, const LatencyOptions& options,
                                       StackView::Trimmed* trimmed = nullptr);

}  // namespace gpuprof::analyze
