// A stream of EU stall samples of one device, by Level Zero's metrics: opened, read, closed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "level_zero/stalls/stall_group.h"

namespace gpuprof::injection::level_zero {

// What a reading needs room for; of one thread.
struct StallBuffers {
  static constexpr size_t kRawBytes = size_t{1} << 20;
  static constexpr uint32_t kValues = 1U << 19;
  uint8_t raw[kRawBytes];
  zet_typed_value_t values[kValues];
};

class StallStream {
 public:
  // `period_ns`: wanted. Whatever fails, nothing stays open.
  ze_result_t open(const MetricsApi& zet, ze_driver_handle_t driver, ze_device_handle_t device, const StallGroup& group,
                   uint32_t period_ns);
  void close(const MetricsApi& zet);

  enum class Outcome : uint8_t { rows, nothing, lost };
  struct Read {
    Outcome outcome = Outcome::nothing;
    bool dropped = false;            // samples are missing before what comes next; nobody says how many
    bool malformed = false;          // the driver has said what makes no sense
    uint32_t sets = 0;               // of rows: one for each part of the device, or one of all
    uint32_t count[kMaxParts] = {};  // of values of each set; they lie one behind the other
  };
  // What has come since the last time, as much as there is room for. Never waits.
  Read read(const MetricsApi& zet, const StallGroup& group, StallBuffers* buffers);

  [[nodiscard]] bool is_open() const { return streamer_ != nullptr; }
  [[nodiscard]] uint32_t period_ns() const { return period_ns_; }  // as the driver has set it

 private:
  ze_result_t calculate(const MetricsApi& zet, const StallGroup& group, size_t bytes, StallBuffers* buffers,
                        Read* read);

  ze_device_handle_t device_ = nullptr;
  ze_context_handle_t context_ = nullptr;
  zet_metric_streamer_handle_t streamer_ = nullptr;
  uint32_t period_ns_ = 0;
  bool no_sets_ = false;  // the driver calculates one set of values only
};

// Why there are no samples, and what to do about it, in one line.
const char* stall_refusal(ze_result_t result);

}  // namespace gpuprof::injection::level_zero
