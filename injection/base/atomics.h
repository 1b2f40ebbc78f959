// Atomic access to the plain integers of the wire structs, and a lock that is one plain uint32_t.
#pragma once

#include <sched.h>

#include <cstdint>
#include <ctime>

#include "base/cpu_arch.h"

namespace gpuprof::injection {

template <typename T>
T load_relaxed(const T* value) {
  return __atomic_load_n(value, __ATOMIC_RELAXED);
}

template <typename T>
T load_acquire(const T* value) {
  return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

template <typename T>
void store_relaxed(T* target, T value) {
  __atomic_store_n(target, value, __ATOMIC_RELAXED);
}

template <typename T>
void store_release(T* target, T value) {
  __atomic_store_n(target, value, __ATOMIC_RELEASE);
}

// Returns the value before the addition.
template <typename T>
T add_relaxed(T* target, T value) {
  return __atomic_fetch_add(target, value, __ATOMIC_RELAXED);
}

inline bool swap_if(uint32_t* target, uint32_t expected, uint32_t desired) {
  return __atomic_compare_exchange_n(target, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

// try_lock_bounded() gives up after this time. The limit is a time, because one yield may take a whole time slice.
constexpr int64_t kLockWaitNs = 20000000;

// Gives up after some hundred nanoseconds, without a system call.
inline bool try_lock_briefly(uint32_t* lock) {
  constexpr int kSpins = 200;
  for (int i = 0; i < kSpins; ++i) {
    if (load_relaxed(lock) == 0 && swap_if(lock, 0, 1)) {
      return true;
    }
    cpu_pause();
  }
  return false;
}

// Spins, then yields. Returns false after kLockWaitNs. Waiting forever could deadlock: the holder may have been killed,
// or the caller may be a signal handler that interrupted the holder.
inline bool try_lock_bounded(uint32_t* lock) {
  if (try_lock_briefly(lock)) {
    return true;
  }
  timespec begin = {};
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    if (load_relaxed(lock) == 0 && swap_if(lock, 0, 1)) {
      return true;
    }
    sched_yield();
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * int64_t{1000000000} + (now.tv_nsec - begin.tv_nsec) < kLockWaitNs);
  return false;
}

// Waits up to 1 s for the lock (`tries` times kLockWaitNs). Use it if the caller would lose data without the lock.
inline bool try_lock_long(uint32_t* lock, int tries = 50) {
  for (int i = 0; i < tries; ++i) {
    if (try_lock_bounded(lock)) {
      return true;
    }
  }
  return false;
}

inline void unlock(uint32_t* lock) {
  store_release(lock, 0U);
}

}  // namespace gpuprof::injection
