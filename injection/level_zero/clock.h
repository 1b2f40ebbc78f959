// Converts device times to CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

namespace gpuprof::injection::level_zero {

struct Clock {
  uint64_t cycles_per_second = 0;  // 0: use `ns_per_cycle`
  uint64_t ns_per_cycle = 1;
  uint64_t mask = UINT64_MAX;  // valid bits of device times and kernel times
  uint64_t host_ns = 0;        // CLOCK_MONOTONIC
  uint64_t device = 0;
};

// Returns the mask for the number of valid bits that a driver reports. 0, or more than 64, means all bits.
constexpr uint64_t mask_of_bits(uint32_t bits) {
  return bits == 0 || bits >= 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
}

constexpr uint64_t cycles_to_ns(const Clock& clock, uint64_t cycles) {
  constexpr uint64_t kSecond = 1000000000;
  const uint64_t rate = clock.cycles_per_second;
  if (rate == 0) {
    return cycles * clock.ns_per_cycle;
  }
  // Converts full seconds first: one day of cycles times 10^9 does not fit into 64 bits.
  return cycles / rate * kSecond + (cycles % rate * kSecond + rate / 2) / rate;
}

// Returns the cycles from `start` to `end`; the counter may have wrapped in between.
constexpr uint64_t cycles_between(const Clock& clock, uint64_t start, uint64_t end) {
  return (end - start) & clock.mask;
}

// Converts a device time to CLOCK_MONOTONIC. Usually `time` is earlier than the clock reading. But if it seems earlier
// by more than 7/8 of the counter's range, the counter has wrapped, and `time` is later than the reading.
constexpr uint64_t host_time(const Clock& clock, uint64_t time) {
  const uint64_t before = cycles_between(clock, time, clock.device);
  if (before > clock.mask - clock.mask / 8) {
    return clock.host_ns + cycles_to_ns(clock, cycles_between(clock, clock.device, time));
  }
  return clock.host_ns - cycles_to_ns(clock, before);
}

}  // namespace gpuprof::injection::level_zero
