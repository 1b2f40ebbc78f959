// A sampled device with its windows and its stream. If a device loss closes the stream, it is opened again.
#pragma once

#include <cstdint>

#include "level_zero/stalls/stall_windows.h"

namespace gpuprof::injection::level_zero {

enum StreamState : uint32_t { kFree, kOpening, kOn, kRefused };

struct SampledDevice {
  uint32_t state;  // atomic StreamState
  uint32_t device;
  StallGroup group;
  StallStream stream;
  StallWindows windows;
  uint64_t floor_ns;  // start of sampling; no window may begin earlier
  uint64_t empty_ns;  // the last time at which a read emptied the stream
  uint64_t next_try_ns;
  uint32_t tries;
  bool lost;
  bool was_on;  // recording was on at the last read
};

struct StallWork {
  const MetricsApi* zet;
  StallBuffers* buffers;
  StallSums* sums;
  bool (*may_call)();
  uint64_t drops;  // number of reads in which the driver reported missing samples
  uint64_t reopened;
};

// Opens the device's stream. Callable from any thread before the device is kOn.
ze_result_t open_stream(const MetricsApi& zet, SampledDevice& one);
// Reads samples, and reports them if recording is on. Called on the reader thread.
void read_stream(SampledDevice& one, StallWork* work);
// Closes the stream. The next read opens it again.
void pause_stream(SampledDevice& one, StallWork* work);

// Report why samples are missing. All devices together send only the first report.
void report_off(const char* reason, uint32_t device);
void report_refusal(ze_result_t result, uint32_t device);
void forget_refusals();

}  // namespace gpuprof::injection::level_zero
