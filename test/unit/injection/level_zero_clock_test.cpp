#include "catch.h"
#include "level_zero/clock.h"

using namespace gpuprof::injection::level_zero;

namespace {

constexpr uint64_t kRate = 19200000;  // cycles a second

Clock clock_at(uint64_t host_ns, uint64_t device, uint32_t bits) {
  Clock clock;
  clock.cycles_per_second = kRate;
  clock.mask = mask_of_bits(bits);
  clock.host_ns = host_ns;
  clock.device = device & clock.mask;
  return clock;
}

}  // namespace

TEST_CASE("level_zero: cycles become nanoseconds, exact over long times") {
  const Clock clock = clock_at(0, 0, 64);
  CHECK(cycles_to_ns(clock, 192) == 10000);
  CHECK(cycles_to_ns(clock, 1) == 52);
  CHECK(cycles_to_ns(clock, kRate * 86400 * 365) == uint64_t{86400} * 365 * 1000000000);
  Clock old;
  old.ns_per_cycle = 52;
  CHECK(cycles_to_ns(old, 192) == 9984);
}

TEST_CASE("level_zero: the mask of a counter follows its valid bits") {
  CHECK(mask_of_bits(32) == 0xFFFFFFFFU);
  CHECK(mask_of_bits(64) == UINT64_MAX);
  CHECK(mask_of_bits(0) == UINT64_MAX);  // 0: the driver does not report the valid bits
  CHECK(mask_of_bits(1000) == UINT64_MAX);
}

TEST_CASE("level_zero: a counter may wrap during the work") {
  const Clock clock = clock_at(0, 0, 32);
  CHECK(cycles_between(clock, 0xFFFFFF00U, 0x40) == 0x140);
}

TEST_CASE("level_zero: work before the clock reading, or shortly after it, is converted") {
  const uint64_t second = 1000000000;
  for (const uint64_t device : {kRate * 100, (uint64_t{1} << 32U) + kRate / 2, uint64_t{5}}) {
    const Clock clock = clock_at(500 * second, device, 32);
    CHECK(host_time(clock, clock.device) == 500 * second);
    CHECK(host_time(clock, (device - 3 * kRate) & clock.mask) == 497 * second);
    CHECK(host_time(clock, (device + kRate) & clock.mask) == 501 * second);
    // A 32-bit counter at this rate wraps after 223 s. A timestamp may lie up to 7/8 of that before the clock reading.
    CHECK(host_time(clock, (device - 190 * kRate) & clock.mask) == 310 * second);
  }
}
