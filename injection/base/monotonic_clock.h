#pragma once

#include <cstdint>
#include <ctime>

#include "base/atomics.h"

namespace gpuprof::injection {

// The recorder's clock minus this process's CLOCK_MONOTONIC, in ns, set by the handshake. It is not 0 if the recorder
// is in another time namespace.
inline constinit int64_t recorder_clock_offset = 0;

inline uint64_t to_ns(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1000000000ULL + static_cast<uint64_t>(time.tv_nsec);
}
inline timespec to_timespec(uint64_t ns) {
  return {static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
}

// Returns CLOCK_MONOTONIC in ns.
inline uint64_t local_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return to_ns(now);
}

// Returns the CPU time of this thread in ns.
inline uint64_t thread_cpu_ns() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return to_ns(now);
}

inline uint64_t recorder_time(uint64_t local) {
  return local + static_cast<uint64_t>(load_relaxed(&recorder_clock_offset));
}

// Returns the recorder's time in ns (wire/wire.h). Before the handshake, this is this process's CLOCK_MONOTONIC.
inline uint64_t now_ns() {
  return recorder_time(local_ns());
}

// Converts a time of now_ns() to this process's CLOCK_MONOTONIC, for system calls that wait until a deadline.
inline timespec to_monotonic(uint64_t ns) {
  return to_timespec(ns - static_cast<uint64_t>(load_relaxed(&recorder_clock_offset)));
}

}  // namespace gpuprof::injection
