// Hashing of ids that a file or a target chose.
#pragma once

#include <cstdint>
#include <random>

namespace gpuprof {

// Odd, and its bits have no pattern (2^64 over the golden ratio): a key times it differs in its upper bits.
inline constexpr uint64_t kHashMultiplier = 0x9e3779b97f4a7c15U;

// Both halves of the product, folded: every bit of either argument reaches every bit of the result. 0 stays 0, so one
// argument should be odd or seeded.
constexpr uint64_t fold_multiply(uint64_t a, uint64_t b) {
  __extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): __extension__ needs a typedef
  const Wide product = Wide{a} * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64U);
}

constexpr uint64_t hash_of(uint64_t id) {
  return fold_multiply(id, kHashMultiplier);
}

constexpr uint64_t join_ids(uint32_t high, uint32_t low) {
  return (uint64_t{high} << 32U) | low;
}

// With a seed a table can not be made to hit one slot.
inline uint64_t random_seed() {
#ifdef GPUPROF_FUZZING  // the same input must take the same way each time
  return kHashMultiplier;
#else
  std::random_device device;
  return join_ids(device(), device());
#endif
}

}  // namespace gpuprof
