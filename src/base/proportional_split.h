// Apportions a number of samples by weights. Parts are integers, and sum to the number.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuprof {

// Uses systematic sampling: each part is its exact share, rounded up or down. The rounding changes between calls, so
// that many small counts sum to the same shares as one large count.
class ProportionalSplit {
 public:
  // Returns one part per weight; the parts sum to `count`. If all weights are 0, they count as equal. Without
  // weights, returns no parts. The sum of the weights must fit into 64 bits.
  std::vector<uint64_t> split(uint64_t count, const std::vector<uint64_t>& weights);

 private:
  uint32_t phase_ = 0;  // unit: 1/2^32 of a sample
};

}  // namespace gpuprof
