// Apportions a number of samples by weights. The parts are integers, and their sum is the number of samples.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuprof {

// Uses systematic sampling. A part is its exact share, rounded up or down. The rounding differs between calls, so
// that many small counts are apportioned as exactly as one large count.
class ProportionalSplit {
 public:
  // Returns one part per weight. The sum of the parts is `count`. If all weights are 0, they are treated as equal. If
  // `weights` is empty, returns no parts. The sum of the weights must fit into 64 bits.
  std::vector<uint64_t> split(uint64_t count, const std::vector<uint64_t>& weights);

 private:
  uint32_t phase_ = 0;  // in 1/2^32 of a sample
};

}  // namespace gpuprof
