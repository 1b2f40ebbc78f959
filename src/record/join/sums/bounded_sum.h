// Adds up numbers from targets. The sums fit into 64 bits, whatever a target reports.
#pragma once

#include <cstdint>

namespace gpuprof::record {

// Adds `value * times` and returns true. Does nothing and returns false if the sum would exceed 2^62.
inline bool add_if_it_fits(uint64_t& total, uint64_t value, uint64_t times = 1) {
  constexpr uint64_t kMax = uint64_t{1} << 62;
  uint64_t product = 0;
  if (__builtin_mul_overflow(value, times, &product) || product > kMax - total) {
    return false;
  }
  total += product;
  return true;
}

}  // namespace gpuprof::record
