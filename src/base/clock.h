// The clock of everything that is recorded.
#pragma once

#include <time.h>

#include <array>
#include <cstdint>
#include <string>

namespace gpuprof {

inline uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// CLOCK_MONOTONIC in nanoseconds, the clock of the wire, of bpf_ktime_get_ns and of the profile.
inline uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

// That time in UTC, as strftime() formats it, in at most 63 characters; empty where there is no such year.
inline std::string utc_text(time_t seconds, const char* format) {
  tm parts{};
  std::array<char, 64> text{};
  return gmtime_r(&seconds, &parts) == nullptr
             ? std::string()
             : std::string(text.data(), strftime(text.data(), text.size(), format, &parts));
}

// CPU time that this process has used so far, all threads.
inline uint64_t own_cpu_ns() {
  return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace gpuprof
