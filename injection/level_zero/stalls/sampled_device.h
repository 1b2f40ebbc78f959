// A device that is sampled: its stream, opened anew when it was lost, and what was read in windows of time.
#pragma once

#include <cstdint>

#include "level_zero/stalls/stall_windows.h"

namespace gpuprof::injection::level_zero {

enum StreamState : uint32_t { kFree, kOpening, kOn, kRefused };

struct SampledDevice {
  uint32_t state;   // atomic StreamState
  uint32_t device;  // its number
  StallGroup group;
  StallStream stream;
  StallWindows windows;
  uint64_t floor_ns;  // nothing was sampled before
  uint64_t empty_ns;  // when nothing was left to read, the last time
  uint64_t next_try_ns;
  uint32_t tries;
  bool lost;
  bool was_on;  // recording, at the last reading
};

// What a reading works with; of one thread.
struct StallWork {
  const MetricsApi* zet;
  StallBuffers* buffers;
  StallSums* sums;
  bool (*may_call)();  // the driver
  uint64_t drops;      // readings before which samples are missing
  uint64_t reopened;   // streams
};

// As the device's stream wants it. On any thread, before the device is kOn.
ze_result_t open_stream(const MetricsApi& zet, SampledDevice& one);
// Reads what has come, and tells of it where recording is on. On the thread that reads.
void read_stream(SampledDevice& one, StallWork* work);
// Closes it. It is opened again by the next reading.
void pause_stream(SampledDevice& one, StallWork* work);

// Why there are no samples: said once for all devices.
void tell_off(const char* reason, uint32_t device);
void tell_refused(ze_result_t result, uint32_t device);
void forget_refusals();

}  // namespace gpuprof::injection::level_zero
