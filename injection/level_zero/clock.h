// Times of a device in ours.
#pragma once

#include <cstdint>

namespace gpuprof::injection::level_zero {

struct Clock {
  uint64_t cycles_per_second = 0;  // 0: `ns_per_cycle` says it
  uint64_t ns_per_cycle = 1;
  uint64_t mask = UINT64_MAX;  // of the bits that both the device's and the kernels' times have
  // Read at the same moment:
  uint64_t host_ns = 0;  // CLOCK_MONOTONIC
  uint64_t device = 0;
};

// Bits that the driver says are valid; 0 or more than 64 mean all.
constexpr uint64_t mask_of_bits(uint32_t bits) {
  return bits == 0 || bits >= 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
}

// Rounded to the nearest.
constexpr uint64_t cycles_to_ns(const Clock& clock, uint64_t cycles) {
  constexpr uint64_t kSecond = 1000000000;
  const uint64_t rate = clock.cycles_per_second;
  if (rate == 0) {
    return cycles * clock.ns_per_cycle;
  }
  // Whole seconds first: 64 bits do not hold a day of cycles times 10^9.
  return cycles / rate * kSecond + (cycles % rate * kSecond + rate / 2) / rate;
}

// From `start` to `end`; the counter may have begun anew in between.
constexpr uint64_t cycles_between(const Clock& clock, uint64_t start, uint64_t end) {
  return (end - start) & clock.mask;
}

// When it was `time` on the device. The clocks were read after work has ended, or little before: the counter's range is
// split so.
constexpr uint64_t host_time(const Clock& clock, uint64_t time) {
  const uint64_t before = cycles_between(clock, time, clock.device);
  if (before > clock.mask - clock.mask / 8) {
    return clock.host_ns + cycles_to_ns(clock, cycles_between(clock, clock.device, time));
  }
  return clock.host_ns - cycles_to_ns(clock, before);
}

}  // namespace gpuprof::injection::level_zero
