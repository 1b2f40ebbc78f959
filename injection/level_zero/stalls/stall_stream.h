// A stream of EU stall samples of one device, by Level Zero's metrics.
#pragma once

#include <cstddef>
#include <cstdint>

#include "level_zero/stalls/stall_group.h"

namespace gpuprof::injection::level_zero {

struct StallBuffers {
  static constexpr size_t kRawBytes = size_t{1} << 20;
  static constexpr uint32_t kValues = 1U << 19;
  uint8_t raw[kRawBytes];
  zet_typed_value_t values[kValues];
};

class StallStream {
 public:
  // Opens the stream with a period near `period_ns`. On failure nothing stays open.
  ze_result_t open(const MetricsApi& zet, ze_driver_handle_t driver, ze_device_handle_t device, const StallGroup& group,
                   uint32_t period_ns);
  void close(const MetricsApi& zet);

  enum class Outcome : uint8_t { rows, nothing, lost };
  struct Read {
    Outcome outcome = Outcome::nothing;
    bool dropped = false;                 // before these samples, an unknown number of samples is missing
    bool malformed = false;               // the driver returned inconsistent values
    uint32_t sets = 0;                    // number of sets of rows: one set per sub-device, or one set for all
    uint32_t count[kMaxSubDevices] = {};  // number of values in each set; `values` holds the sets one after another
  };
  // Reads new samples, as many as fit. Never waits.
  Read read(const MetricsApi& zet, const StallGroup& group, StallBuffers* buffers);

  [[nodiscard]] bool is_open() const { return streamer_ != nullptr; }
  [[nodiscard]] uint32_t period_ns() const { return period_ns_; }  // the period that the driver has set

 private:
  ze_result_t calculate(const MetricsApi& zet, const StallGroup& group, size_t bytes, StallBuffers* buffers,
                        Read* read);

  ze_device_handle_t device_ = nullptr;
  ze_context_handle_t context_ = nullptr;
  zet_metric_streamer_handle_t streamer_ = nullptr;
  uint32_t period_ns_ = 0;
  bool no_sets_ = false;  // the driver calculates only one set of values
};

// Returns one line that explains why samples are missing and what to do.
const char* stall_refusal(ze_result_t result);

}  // namespace gpuprof::injection::level_zero
