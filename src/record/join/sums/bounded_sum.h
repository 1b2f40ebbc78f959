// Adds up numbers from targets. The sums fit into 64 bits, whatever a target reports.
#pragma once

#include <cstdint>

namespace gpuprof::record {

// Adds `value` and returns true. Does nothing and returns false if the sum would exceed 2^62.
inline bool add_if_it_fits(uint64_t& total, uint64_t value) {
  constexpr uint64_t kMax = uint64_t{1} << 62;
  if (value > kMax - total) {
    return false;
  }
  total += value;
  return true;
}

}  // namespace gpuprof::record
