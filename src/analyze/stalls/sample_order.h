// Sorts samples by work, and then by code location. Internal to the analysis of samples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "analyze/rows/aggregate.h"
#include "base/hash.h"
#include "base/large_vector.h"

namespace gpuprof::analyze {

class SampleOrder {
 public:
  explicit SampleOrder(const Aggregate& rows)
      : rows_(rows), begins_(rows.tables.works().size() + 1), order_(rows.samples.size()) {
    const profile::Tables& tables = rows.tables;
    for (const SampleRow& row : rows.samples) {
      ++begins_[tables.position(row.key.work) + 1];
    }
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    std::vector<uint32_t> next = begins_;
    for (uint32_t i = 0; i < order_.size(); ++i) {
      const SampleKey& key = rows.samples[i].key;
      order_[next[tables.position(key.work)]++] = join_ids(index(key.place), i);
    }
    for (size_t work = 0; work + 1 < begins_.size(); ++work) {
      std::sort(order_.begin() + begins_[work], order_.begin() + begins_[work + 1]);
    }
  }

  [[nodiscard]] size_t size() const { return order_.size(); }
  [[nodiscard]] const SampleRow& row(size_t i) const { return rows_.samples[static_cast<uint32_t>(order_[i])]; }

  // Return the range of samples for the work at that position of the tables.
  [[nodiscard]] uint32_t begin(uint32_t work) const { return begins_[work]; }
  [[nodiscard]] uint32_t end(uint32_t work) const { return begins_[work + 1]; }

 private:
  const Aggregate& rows_;
  // Indexed by the position of the work: where its samples begin in order_; one more element marks the end.
  std::vector<uint32_t> begins_;
  // The lower half is a row index. The upper half is the id of the code location, by which the samples of a work are
  // sorted.
  LargeVector<uint64_t> order_;
};

}  // namespace gpuprof::analyze
