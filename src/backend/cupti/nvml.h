// Samples the SM clocks of NVIDIA GPUs during a recording, with NVML (libnvidia-ml.so.1, part of the driver).
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "backend/backend.h"

namespace gpuprof::backend {

// Uses a separate thread, because NVML waits for the driver's locks and a recording must not wait for them. If NVML is
// missing or fails, there are no clocks and no message, because clocks only explain differences between runs.
class ClockWatch {
 public:
  ClockWatch();
  ClockWatch(const ClockWatch&) = delete;
  ClockWatch& operator=(const ClockWatch&) = delete;
  ~ClockWatch();

  // Stops sampling. Returns the clocks of the devices that have samples.
  std::vector<DeviceClock> finish();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the thread, which may hang in the driver longer than this object lives
  std::thread thread_;
};

}  // namespace gpuprof::backend
