#include "cupti/windows/unfinished_launches.h"

#include "base/atomics.h"

namespace gpuprof::injection::cupti {
namespace {

constexpr uint32_t kKnown = 1U << 16;
constexpr uint32_t kBits = 64;

uint64_t bits[kKnown / kBits];  // atomic; one for each of the last ids
uint64_t number = 0;            // atomic; of set bits

uint64_t* word_of(uint32_t id) {
  return &bits[id % kKnown / kBits];
}

uint64_t mask_of(uint32_t id) {
  return uint64_t{1} << (id % kBits);
}

}  // namespace

void forget_launches() {
  for (uint64_t& word : bits) {
    store_relaxed(&word, uint64_t{0});
  }
  store_relaxed(&number, uint64_t{0});
}

void launch_begun(uint32_t correlation) {
  if ((__atomic_fetch_or(word_of(correlation), mask_of(correlation), __ATOMIC_RELAXED) & mask_of(correlation)) == 0) {
    add_relaxed(&number, uint64_t{1});
  }
}

void launch_ended(uint32_t correlation) {
  if ((__atomic_fetch_and(word_of(correlation), ~mask_of(correlation), __ATOMIC_RELAXED) & mask_of(correlation)) != 0) {
    __atomic_fetch_sub(&number, uint64_t{1}, __ATOMIC_RELAXED);
  }
}

bool any_unfinished() {
  return load_relaxed(&number) != 0;
}

}  // namespace gpuprof::injection::cupti
