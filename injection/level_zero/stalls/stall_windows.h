// Emits the samples of a device and its sub-devices in sampling windows. A window is a sequence of SAMPLES records and
// one SAMPLE_WINDOW record.
#pragma once

#include <cstdint>

#include "level_zero/stalls/stall_group.h"
#include "level_zero/stalls/stall_stream.h"
#include "level_zero/stalls/stall_sums.h"

namespace gpuprof::injection::level_zero {

class StallWindows {
 public:
  // `parts` are the numbers of the sub-devices. Without sub-devices, samples belong to the device itself.
  void begin(uint32_t device, uint32_t whole, const uint32_t* parts, uint32_t count);

  // Adds rows. Each invalid row counts as one dropped sample.
  void add(const StallGroup& group, const StallStream::Read& read, const zet_typed_value_t* values, StallSums* sums);
  // Counts an unknown number of missing samples.
  void add_dropped() { ++windows_[0].dropped; }

  void close(const StallGroup& group, uint64_t start_ns, uint64_t end_ns, uint32_t period_ns, StallSums* sums);
  void forget(StallSums* sums);

  [[nodiscard]] uint64_t malformed() const { return malformed_; }

 private:
  struct Window {
    uint32_t number = 0;  // 0: no SAMPLES record of this window has been emitted
    uint64_t handed = 0;
    uint64_t dropped = 0;
    // Start of an earlier window that did not fit into the ring and is included in this one; 0: no such window.
    uint64_t since_ns = 0;
  };
  [[nodiscard]] uint32_t part_of_set(uint32_t set, uint32_t sets) const;
  [[nodiscard]] uint32_t device_of(uint32_t part) const;
  void emit(const StallGroup& group, StallSums* sums);
  void emit(const StallGroup& group, uint32_t part, const StallSums::Sum& sum);

  uint32_t device_ = 0;
  uint32_t whole_ = 0;
  uint32_t part_count_ = 0;
  uint32_t parts_[kMaxSubDevices] = {};
  Window windows_[kMaxSubDevices + 1] = {};  // the device itself, then its sub-devices
  uint64_t malformed_ = 0;
};

}  // namespace gpuprof::injection::level_zero
