// Samples the SM clocks of NVIDIA GPUs during a recording, with NVML (libnvidia-ml.so.1, part of the driver).
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "backend/backend.h"

namespace gpuprof::backend {

// Uses its own thread, because NVML waits for locks of the driver and a recording must not. If NVML is missing or
// fails, the profile lacks clocks. This causes no message, because clocks only help to explain differences between
// runs.
class ClockWatch {
 public:
  ClockWatch();
  ClockWatch(const ClockWatch&) = delete;
  ClockWatch& operator=(const ClockWatch&) = delete;
  ~ClockWatch();

  // Stops sampling. Returns only devices that have samples.
  std::vector<DeviceClock> finish();

 private:
  struct State;
  // Shared with the thread, which may hang in the driver after this object is destroyed.
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace gpuprof::backend
