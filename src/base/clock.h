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

// CLOCK_MONOTONIC of the initial time namespace minus that of this process, in ns.
int64_t time_namespace_offset();

// CLOCK_MONOTONIC of the initial time namespace, in ns. Wire records, bpf_ktime_get_ns and the profile use this
// clock.
inline uint64_t monotonic_ns() {
  static const int64_t offset = time_namespace_offset();
  return clock_ns(CLOCK_MONOTONIC) + static_cast<uint64_t>(offset);
}

// Formats a time in UTC with strftime(). Returns at most 63 characters, or an empty string if the year is out of
// range.
inline std::string utc_text(time_t seconds, const char* format) {
  tm parts{};
  std::array<char, 64> text{};
  return gmtime_r(&seconds, &parts) == nullptr
             ? std::string()
             : std::string(text.data(), strftime(text.data(), text.size(), format, &parts));
}

// CPU time of all threads of this process so far.
inline uint64_t own_cpu_ns() {
  return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace gpuprof
