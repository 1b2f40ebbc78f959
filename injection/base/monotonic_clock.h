#pragma once

#include <cstdint>
#include <ctime>

#include "base/atomics.h"

namespace gpuprof::injection {

// The recorder's clock minus CLOCK_MONOTONIC of this process, in ns. The handshake sets it; not 0 if the recorder is in
// another time namespace.
inline constinit int64_t recorder_clock_offset = 0;

// Returns the recorder's time in ns (wire/wire.h); before the handshake, CLOCK_MONOTONIC.
inline uint64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec) +
         static_cast<uint64_t>(load_relaxed(&recorder_clock_offset));
}

// Converts a time of now_ns() to this process's CLOCK_MONOTONIC, for system calls that wait until a deadline.
inline timespec to_monotonic(uint64_t ns) {
  const uint64_t local = ns - static_cast<uint64_t>(load_relaxed(&recorder_clock_offset));
  return {static_cast<time_t>(local / 1000000000), static_cast<long>(local % 1000000000)};
}

}  // namespace gpuprof::injection
