// The SM clocks of NVIDIA's GPUs, by NVML (libnvidia-ml.so.1, which comes with the driver), while a program is
// recorded.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "backend/backend.h"

namespace gpuprof::backend {

// Samples from a thread of its own: NVML waits for locks of the driver, and a recording does not. Without NVML, or
// where it refuses, there are no clocks, and nothing is said: they only explain differences.
class ClockWatch {
 public:
  ClockWatch();
  ClockWatch(const ClockWatch&) = delete;
  ClockWatch& operator=(const ClockWatch&) = delete;
  ~ClockWatch();

  // Ends it. Devices of which there was no sample are left out.
  std::vector<DeviceClock> finish();

 private:
  struct State;
  std::shared_ptr<State> state_;  // the thread's as well: it may hang in the driver when we are gone
  std::thread thread_;
};

}  // namespace gpuprof::backend
