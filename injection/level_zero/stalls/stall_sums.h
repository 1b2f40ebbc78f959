// Sums samples by address and sub-device, so that each address is reported once. Does not allocate memory. If the table
// is full, the caller must empty it.
#pragma once

#include <cstdint>

namespace gpuprof::injection::level_zero {

constexpr uint32_t kMaxReasons = 16;
constexpr uint32_t kMaxSubDevices = 16;

struct StallSample {
  uint64_t address = 0;
  uint32_t counts[kMaxReasons] = {};
};

class StallSums {
 public:
  struct Sum {
    uint64_t address;
    uint32_t sub_device_plus_one;  // number of the sub-device plus 1; 0: the entry is free
    uint32_t counts[kMaxReasons];
  };

  // Adds a sample. Returns false, and adds nothing, if the table is full or a count would exceed 32 bits.
  bool add(uint32_t part, const StallSample& sample) {
    Sum* sum = find(part, sample.address);
    if (sum == nullptr || !fits(*sum, sample)) {
      return false;
    }
    for (uint32_t i = 0; i < kMaxReasons; ++i) {
      sum->counts[i] += sample.counts[i];
    }
    return true;
  }

  // Calls `take` with the sub-device and the Sum of each entry, in any order, and empties the table.
  template <typename Take>
  void take_all(Take take) {
    for (uint32_t i = 0; used_ > 0 && i < kPlaces; ++i) {
      if (Sum& sum = sums_[i]; sum.sub_device_plus_one != 0) {
        take(sum.sub_device_plus_one - 1, sum);
        sum = {};
        --used_;
      }
    }
  }

  static constexpr uint32_t kPlaces = 16384;
  static constexpr uint32_t kMost = kPlaces / 2;

 private:
  static bool fits(const Sum& sum, const StallSample& sample) {
    for (uint32_t i = 0; i < kMaxReasons; ++i) {
      if (sum.counts[i] > UINT32_MAX - sample.counts[i]) {
        return false;
      }
    }
    return true;
  }

  Sum* find(uint32_t part, uint64_t address) {
    uint64_t at = ((address >> 3U) + part) * 0x9E3779B97F4A7C15U >> 40U;
    for (uint32_t tries = 0; tries < kPlaces; ++tries, ++at) {
      Sum& sum = sums_[at % kPlaces];
      if (sum.sub_device_plus_one == 0) {
        if (used_ >= kMost) {
          return nullptr;
        }
        ++used_;
        sum.sub_device_plus_one = part + 1;
        sum.address = address;
        return &sum;
      }
      if (sum.sub_device_plus_one == part + 1 && sum.address == address) {
        return &sum;
      }
    }
    return nullptr;
  }

  uint32_t used_ = 0;
  Sum sums_[kPlaces] = {};
};

}  // namespace gpuprof::injection::level_zero
