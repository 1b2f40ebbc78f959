#pragma once

#include <cstdint>
#include <ctime>

#include "base/atomics.h"

namespace gpuprof::injection {

// The recorder's clock minus this process's CLOCK_MONOTONIC, in ns, set by the handshake. It is not 0 if the recorder
// is in another time namespace.
inline constinit int64_t recorder_clock_offset = 0;

// Returns CLOCK_MONOTONIC in ns.
inline uint64_t local_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec);
}

// Returns the CPU time of this thread in ns.
inline uint64_t thread_cpu_ns() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec);
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
  const uint64_t local = ns - static_cast<uint64_t>(load_relaxed(&recorder_clock_offset));
  return {static_cast<time_t>(local / 1000000000), static_cast<long>(local % 1000000000)};
}

}  // namespace gpuprof::injection
