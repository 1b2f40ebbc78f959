// Shares a number of samples out in proportion to weights: whole samples, and all of them.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuprof {

// Systematic sampling. Each part is its exact share, rounded up or down; which of both changes from call to call so
// that many small counts add up to the same shares as one large one.
class ProportionalSplit {
 public:
  // A part for each weight; they sum to `count`. Weights of which none is above 0 are taken for equal ones; none at all
  // gives no part. The sum of the weights must fit into 64 bits.
  std::vector<uint64_t> split(uint64_t count, const std::vector<uint64_t>& weights);

 private:
  uint32_t phase_ = 0;  // in 1/2^32 of a sample
};

}  // namespace gpuprof
