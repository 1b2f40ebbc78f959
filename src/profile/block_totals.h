// Adds up BLOCKS records.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "profile/records.h"

namespace gpuprof::profile {

struct BlockTotals {
  Blocks sums;                            // without buckets
  std::vector<Duration::Bucket> buckets;  // ascending, without empty buckets

  // Returns false, and changes nothing, if a sum would exceed `most`.
  [[nodiscard]] bool add(const Blocks& more, uint64_t most = UINT64_MAX) {
    constexpr std::array kSums = {&Blocks::launches, &Blocks::grid,      &Blocks::blocks,       &Blocks::span_ns,
                                  &Blocks::sum_ns,   &Blocks::busy_ns,   &Blocks::sm_ns,        &Blocks::busiest_ns,
                                  &Blocks::mean_ns,  &Blocks::tail_ns,   &Blocks::tail_busy_ns, &Blocks::tail_sm_ns,
                                  &Blocks::saved_ns, &Blocks::concurrent};
    for (const auto member : kSums) {
      if (more.*member > most - sums.*member) {
        return false;
      }
    }
    const bool is_slower = more.blocks > 0 && (sums.blocks == 0 || more.slowest_ns > sums.slowest_ns);
    for (const auto member : kSums) {
      sums.*member += more.*member;
    }
    sums.device_sms = std::max(sums.device_sms, more.device_sms);
    if (is_slower) {
      sums.slowest_ns = more.slowest_ns;
      sums.x = more.x;
      sums.y = more.y;
      sums.z = more.z;
      sums.correlation = more.correlation;
    }
    for (const Duration::Bucket& bucket : more.buckets) {  // cannot overflow: the buckets hold at most all blocks
      count_of_bucket(buckets, bucket.bucket) += bucket.count;
    }
    return true;
  }
};

}  // namespace gpuprof::profile
