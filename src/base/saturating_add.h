// Adds counts that a file or a target may have forged.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpuprof {

// Returns the sum, at most 2^64 - 1.
constexpr uint64_t saturating_add(uint64_t a, uint64_t b) {
  return a + std::min(b, UINT64_MAX - a);
}

}  // namespace gpuprof
