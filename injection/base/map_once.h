#pragma once

#include <sys/mman.h>

#include <cstddef>

#include "base/atomics.h"

namespace gpuprof::injection {

// Returns the table at `*place`, or null if memory is exhausted. The first call maps `count` zeroed elements, which use
// no memory until they are written. Concurrent callers get the same table. The table is never unmapped, because readers
// do not lock.
template <typename T>
T* map_once(T** place, size_t count = 1) {
  T* there = load_acquire(place);
  if (there != nullptr) {
    return there;
  }
  constexpr int kUnreserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* made = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, kUnreserved, -1, 0);
  if (made == MAP_FAILED) {
    return nullptr;
  }
  if (__atomic_compare_exchange_n(place, &there, static_cast<T*>(made), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    return static_cast<T*>(made);
  }
  munmap(made, count * sizeof(T));
  return there;
}

}  // namespace gpuprof::injection
