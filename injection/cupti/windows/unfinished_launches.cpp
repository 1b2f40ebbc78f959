#include "cupti/windows/unfinished_launches.h"

#include "base/atomics.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint32_t kKnown = 1U << 16;
constexpr uint32_t kBits = 64;
constexpr uint32_t kWords = kKnown / kBits;

uint64_t bits[kWords];  // atomic; one for each of the last ids
// Atomic; the bits that were set at the last forget_old_launches(), and still belong to the same launch.
uint64_t old[kWords];
uint64_t number = 0;  // atomic; of set bits

uint32_t word_of(uint32_t id) {
  return id % kKnown / kBits;
}

uint64_t mask_of(uint32_t id) {
  return uint64_t{1} << (id % kBits);
}

// Clears bits of a word. Returns how many of them were set.
uint32_t clear(uint64_t* word, uint64_t mask) {
  return static_cast<uint32_t>(__builtin_popcountll(__atomic_fetch_and(word, ~mask, __ATOMIC_RELAXED) & mask));
}

void subtract(uint32_t ended) {
  if (ended != 0) {
    __atomic_fetch_sub(&number, uint64_t{ended}, __ATOMIC_RELAXED);
  }
}

}  // namespace

void forget_launches() {
  for (uint32_t i = 0; i < kWords; ++i) {
    store_relaxed(&bits[i], uint64_t{0});
    store_relaxed(&old[i], uint64_t{0});
  }
  store_relaxed(&number, uint64_t{0});
}

void forget_old_launches() {
  for (uint32_t i = 0; i < kWords; ++i) {
    subtract(clear(&bits[i], load_relaxed(&old[i])));
    store_relaxed(&old[i], load_relaxed(&bits[i]));
  }
}

void launch_begun(uint32_t correlation) {
  const uint32_t word = word_of(correlation);
  const uint64_t mask = mask_of(correlation);
  if ((load_relaxed(&old[word]) & mask) != 0) {
    clear(&old[word], mask);
  }
  if ((__atomic_fetch_or(&bits[word], mask, __ATOMIC_RELAXED) & mask) == 0) {
    add_relaxed(&number, uint64_t{1});
  }
}

void launch_ended(uint32_t correlation) {
  subtract(clear(&bits[word_of(correlation)], mask_of(correlation)));
}

bool any_unfinished() {
  return load_relaxed(&number) != 0;
}

}  // namespace gpuprof::injection::cupti
