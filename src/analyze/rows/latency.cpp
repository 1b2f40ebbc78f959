#include "analyze/rows/latency.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "analyze/names/labels.h"
#include "analyze/paths/call_path.h"
#include "analyze/rows/totals.h"
#include "profile/log_buckets.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

uint64_t add_capped(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<uint64_t>::max() : sum;
}

struct Histogram {
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = std::numeric_limits<uint64_t>::max();
  uint64_t max_ns = 0;
  std::vector<p::Latency::Bucket> buckets;

  void add(const LatencyRow& row) {
    if (row.count == 0) {
      return;
    }
    count = add_capped(count, row.count);
    sum_ns = add_capped(sum_ns, row.sum_ns);
    min_ns = std::min(min_ns, row.min_ns);
    max_ns = std::max(max_ns, row.max_ns);
    for (const p::Latency::Bucket& bucket : row.buckets) {
      uint64_t& sum = count_of_bucket(buckets, bucket.bucket);
      sum = add_capped(sum, bucket.count);
    }
  }

  // Returns the upper end of the bucket that contains the percentile.
  [[nodiscard]] uint64_t percentile(unsigned percent) const {
    const p::Uint128 wanted = (p::Uint128{count} * percent + 99) / 100;
    p::Uint128 seen = 0;
    for (const auto& [bucket, values] : buckets) {
      seen += values;
      if (seen >= wanted) {
        return bucket < p::LatencyBuckets::kCount ? std::clamp(p::LatencyBuckets::high(bucket), min_ns, max_ns)
                                                  : max_ns;
      }
    }
    return max_ns;
  }

  [[nodiscard]] LatencyStats stats() const {
    LatencyStats stats;
    if (count == 0) {
      return stats;
    }
    stats = {.count = count,
             .sum_ns = sum_ns,
             .min_ns = min_ns,
             .max_ns = max_ns,
             .p50_ns = percentile(50),
             .p90_ns = percentile(90),
             .p99_ns = percentile(99),
             .buckets = buckets};
    return stats;
  }
};

using LatencyGroup = std::array<Histogram, kPhases>;

uint64_t weight_of(const LatencyGroup& group) {
  const uint64_t whole = group[static_cast<size_t>(p::Phase::call_to_start)].sum_ns;
  if (whole != 0) {
    return whole;
  }
  uint64_t sum = 0;
  for (const Histogram& phase : group) {
    sum = add_capped(sum, phase.sum_ns);
  }
  return sum;
}

}  // namespace

uint64_t LatencyLine::count() const {
  uint64_t most = 0;
  for (const LatencyStats& phase : phases) {
    most = std::max(most, phase.count);
  }
  return most;
}

std::vector<LatencyLine> latency_lines(const Aggregate& rows, const LatencyOptions& options,
                                       StackView::Trimmed* trimmed, size_t* found) {
  const auto texts = std::make_shared<WorkPaths>(rows.tables, options.stacks);
  std::map<PathKey, LatencyGroup> groups;
  for (const LatencyRow& row : rows.latencies) {
    const p::Work* work = rows.tables.work(row.work);
    const auto phase = static_cast<size_t>(row.phase);
    if (work == nullptr || phase >= kPhases) {
      continue;
    }
    PathKey key;
    if (options.paths) {
      key = path_key(*work, *texts);
    } else {
      key.work = texts->work_label(*work);
    }
    if (!options.wanted || options.wanted(std::string(key.work))) {
      groups[key][phase].add(row);
    }
  }
  std::vector<std::map<PathKey, LatencyGroup>::const_iterator> order;
  for (auto it = groups.cbegin(); it != groups.cend(); ++it) {
    order.push_back(it);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return weight_of(a->second) > weight_of(b->second); });
  if (found != nullptr) {
    *found = order.size();
  }
  if (options.top != 0 && order.size() > options.top) {
    order.resize(options.top);
  }
  std::vector<LatencyLine> lines;
  for (const auto& entry : order) {
    LatencyLine& line = lines.emplace_back();
    line.work = entry->first.work;
    line.texts = texts;
    if (options.paths) {
      line.process = entry->first.process;
      line.path = CallPath(entry->first, texts);
    }
    for (size_t phase = 0; phase < kPhases; ++phase) {
      line.phases[phase] = entry->second[phase].stats();
    }
  }
  if (trimmed != nullptr) {
    *trimmed = texts->view().trimmed();
  }
  return lines;
}

}  // namespace gpuprof::analyze
