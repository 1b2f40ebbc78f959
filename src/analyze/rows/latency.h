// Groups the launch latencies of a profile for a report: histograms and percentiles.
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

inline constexpr size_t kPhases = 4;

// Latencies of one phase. Percentiles are upper ends of buckets, limited by the maximum: at most 1/8 too high.
struct LatencyStats {
  uint64_t count = 0;
  uint64_t sum_ns = 0;  // UINT64_MAX on overflow
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t p50_ns = 0;
  uint64_t p90_ns = 0;
  uint64_t p99_ns = 0;
  std::vector<profile::Latency::Bucket> buckets;  // ascending by number; see profile/log_buckets.h
};

// Latencies of one kernel or copy, or of one call path that launched it.
struct LatencyLine {
  std::string_view work;     // valid as long as the rows and `texts`
  std::string_view process;  // set only with LatencyOptions::paths
  CallPath path;             // CPU frames, outermost first; only with LatencyOptions::paths
  std::shared_ptr<WorkPaths> texts;
  std::array<LatencyStats, kPhases> phases;  // indexed by profile::Phase

  // Returns the number of launches: the largest count of all phases.
  [[nodiscard]] uint64_t count() const;
};

struct LatencyOptions {
  bool paths = false;                                        // one line per call path instead of per work
  size_t top = 0;                                            // maximum number of lines; 0: all
  std::function<bool(const std::string&)> wanted = nullptr;  // selects work by its name; null: all work
  StackOptions stacks;
};

// Returns the lines with the greatest sum of call_to_start first; if that is unknown, by the sum of all phases. `rows`
// must be read with AggregateOptions::latency. `trimmed` receives StackView::trimmed(), `found` the number of lines
// before LatencyOptions::top is applied. Both may be null.
std::vector<LatencyLine> latency_lines(const Aggregate& rows, const LatencyOptions& options,
                                       StackView::Trimmed* trimmed = nullptr, size_t* found = nullptr);

}  // namespace gpuprof::analyze
