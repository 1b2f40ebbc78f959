// Samples EU stalls by Level Zero's metrics, on each device for which the process loads code. Active if the recorder
// requests samples from this library. It does so only if the Linux driver has no interface for stalls. A library thread
// reads the streams. If the Level Zero driver refuses, recording continues without samples.
#pragma once

#include "level_zero/api/api.h"

namespace gpuprof::injection::level_zero {

void begin_stalls();

// Opens a device's stream when code is first loaded for the device. Call it on the thread that loads the code, before
// its call returns, so that no sample is missed.
void sample_stalls(ze_device_handle_t device);

// Sends available samples. Waits for the reader thread, for a limited time. Call it on the service thread.
void flush_stalls();

// Reads the last samples, closes the streams, and ends the reader thread. Waits at most 1 s for the thread.
void end_stalls();

// Call it when the process ends. Sets the time after which the reader thread must not call the driver.
void stalls_at_exit(uint64_t last_call_ns);

void forget_stalls();

}  // namespace gpuprof::injection::level_zero
