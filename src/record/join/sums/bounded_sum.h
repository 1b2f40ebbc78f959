// Every sum of a profile must fit into 64 bits, whatever a target claims.
#pragma once

#include <cstdint>

namespace gpuprof::record {

// What would not fit is not taken.
inline bool add_if_it_fits(uint64_t& total, uint64_t value) {
  constexpr uint64_t kMax = uint64_t{1} << 62;
  if (value > kMax - total) {
    return false;
  }
  total += value;
  return true;
}

}  // namespace gpuprof::record
