// Samples EU stalls by Level Zero's metrics, on devices that the process loads code for. Active if the recorder
// requests samples from this library, which it does only where the Linux driver has no interface for stalls. A library
// thread reads the streams. If the Level Zero driver refuses, recording continues without samples.
#pragma once

#include "level_zero/api.h"

namespace gpuprof::injection::level_zero {

// Prepares for a new recorder. Call it after bind().
void begin_stalls();

// Opens a device's stream when code is first loaded for the device. Call it on the target's thread before the loading
// call returns, so that no sample is missed.
void sample_stalls(ze_device_handle_t device);

// Sends available samples; waits for the reader thread for a limited time. Call it on the service thread.
void flush_stalls();

// Reads the last samples, closes the streams, and ends the reader thread. Gives up on the thread after 1 s.
void end_stalls();

// When the process ends: sets the time after which the reader thread must not call the driver.
void stalls_at_exit(uint64_t last_call_ns);

void forget_stalls();

}  // namespace gpuprof::injection::level_zero
