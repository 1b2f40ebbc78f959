// Percentiles of the durations of GPU work, from histograms.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "profile/records.h"

namespace gpuprof::analyze {

// nullopt: unknown.
struct Percentiles {
  std::optional<uint64_t> median_ns;
  std::optional<uint64_t> p95_ns;
  std::optional<uint64_t> p99_ns;

  [[nodiscard]] std::array<std::pair<const char*, std::optional<uint64_t>>, 3> named() const {
    return {{{"median", median_ns}, {"p95", p95_ns}, {"p99", p99_ns}}};
  }
};

class Durations {
 public:
  void add(const std::vector<profile::Duration::Bucket>& buckets) {
    for (const profile::Duration::Bucket& bucket : buckets) {
      profile::count_of_bucket(buckets_, bucket.bucket) += bucket.count;
      recorded_ += bucket.count;
    }
  }
  void add(const Durations& more) { add(more.buckets_); }

  [[nodiscard]] uint64_t recorded() const { return recorded_; }

  // Returns how many durations are in each of `parts` ranges between the shortest and the longest one. On a logarithmic
  // scale, the ranges are equally wide. There must be a duration.
  [[nodiscard]] std::vector<uint64_t> histogram(size_t parts) const {
    std::vector<uint64_t> counts(parts);
    const uint64_t first = buckets_.front().bucket;
    const uint64_t range = buckets_.back().bucket - first + 1;
    for (const profile::Duration::Bucket& bucket : buckets_) {
      counts[range == 1 ? parts / 2 : (bucket.bucket - first) * parts / range] += bucket.count;
    }
    return counts;
  }

  // Returns the percentiles of `count` durations between `min_ns` and `max_ns`: upper ends of buckets, so at most 1/64
  // too high.
  [[nodiscard]] Percentiles percentiles(uint64_t count, uint64_t min_ns, uint64_t max_ns) const {
    const auto at = [&](uint64_t percent) { return percentile(percent, std::max(count, recorded_), min_ns, max_ns); };
    return {at(50), at(95), at(99)};
  }

 private:
  // The histogram may lack durations: the profile was cut short, an older gpuprof recorded a part of it, or an estimate
  // was rounded. Returns nullopt if the percentile could then be in another bucket than the one found and its neighbor.
  [[nodiscard]] std::optional<uint64_t> percentile(uint64_t percent, uint64_t count, uint64_t min_ns,
                                                   uint64_t max_ns) const {
    const auto rank = static_cast<uint64_t>((profile::Uint128{count} * percent + 99) / 100);
    const uint64_t missing = count - recorded_;
    if (rank <= missing || rank > recorded_) {
      return std::nullopt;
    }
    const size_t highest = position(rank);
    if (buckets_[highest].bucket > buckets_[position(rank - missing)].bucket + 1) {
      return std::nullopt;
    }
    return std::clamp(profile::DurationBuckets::high(buckets_[highest].bucket), min_ns, std::max(min_ns, max_ns));
  }

  // Returns the position of the bucket with the duration of this rank. The shortest duration has rank 1.
  [[nodiscard]] size_t position(uint64_t rank) const {
    size_t position = 0;
    for (uint64_t seen = buckets_.front().count; seen < rank; seen += buckets_[++position].count) {
    }
    return position;
  }

  std::vector<profile::Duration::Bucket> buckets_;
  uint64_t recorded_ = 0;  // number of durations in the buckets
};

}  // namespace gpuprof::analyze
