// The clock of everything that is recorded.
#pragma once

#include <time.h>

#include <cstdint>

namespace gpuprof {

// CLOCK_MONOTONIC in nanoseconds, the clock of the wire, of bpf_ktime_get_ns and of the profile.
inline uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace gpuprof
