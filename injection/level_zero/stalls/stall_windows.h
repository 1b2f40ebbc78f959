// What has been sampled on a device and its parts, and is told in windows of time: SAMPLES, then their SAMPLE_WINDOW.
#pragma once

#include <cstdint>

#include "level_zero/stalls/stall_group.h"
#include "level_zero/stalls/stall_stream.h"
#include "level_zero/stalls/stall_sums.h"

namespace gpuprof::injection::level_zero {

class StallWindows {
 public:
  // `parts`: the numbers of the device's parts; none: samples are of the device itself.
  void begin(uint32_t device, uint32_t whole, const uint32_t* parts, uint32_t count);

  // The rows that were read. Those that make no sense are counted as one that is missing, each.
  void add(const StallGroup& group, const StallStream::Read& read, const zet_typed_value_t* values, StallSums* sums);
  // Samples are missing; nobody says how many.
  void add_dropped() { ++windows_[0].dropped; }

  // Tells what has come as taken in [start_ns, end_ns).
  void close(const StallGroup& group, uint64_t start_ns, uint64_t end_ns, uint32_t period_ns, StallSums* sums);
  void forget(StallSums* sums);

  [[nodiscard]] uint64_t malformed() const { return malformed_; }

 private:
  struct Window {
    uint32_t number = 0;  // 0: nothing has been told yet
    uint64_t handed = 0;
    uint64_t dropped = 0;
    uint64_t since_ns = 0;  // of what there was no room to tell of earlier; 0: there is nothing
  };
  [[nodiscard]] uint32_t part_of_set(uint32_t set, uint32_t sets) const;
  [[nodiscard]] uint32_t device_of(uint32_t part) const;
  void tell(const StallGroup& group, StallSums* sums);
  void tell(const StallGroup& group, uint32_t part, const StallSums::Sum& sum);

  uint32_t device_ = 0;
  uint32_t whole_ = 0;
  uint32_t part_count_ = 0;
  uint32_t parts_[kMaxParts] = {};
  Window windows_[kMaxParts + 1] = {};  // of the device itself, and of its parts
  uint64_t malformed_ = 0;
};

}  // namespace gpuprof::injection::level_zero
