// Hashes ids that a file or a target chose.
#pragma once

#include <cstdint>
#include <random>

#include "wire/hash.h"

namespace gpuprof {

inline constexpr uint64_t kHashMultiplier = GPUPROF_HASH_MULTIPLIER;

inline uint64_t fold_multiply(uint64_t a, uint64_t b) {
  return gpuprof_fold_multiply(a, b);
}

inline uint64_t hash_of(uint64_t id) {
  return fold_multiply(id, kHashMultiplier);
}

constexpr uint64_t join_ids(uint32_t high, uint32_t low) {
  return (uint64_t{high} << 32U) | low;
}

// Returns a random seed, because a file could choose its keys so that all have the same slot for a known seed.
inline uint64_t random_seed() {
#ifdef GPUPROF_FUZZING  // fuzzing must be reproducible
  return kHashMultiplier;
#else
  std::random_device device;
  return join_ids(device(), device());
#endif
}

}  // namespace gpuprof
