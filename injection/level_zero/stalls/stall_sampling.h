// EU stall sampling of the devices that the process loads code for: by Level Zero's metrics, for GPUs whose kernel
// driver has no interface for it that the recorder could use by itself. A thread of ours reads the streams.
//
// Only where the recorder asks for samples, and takes none itself. Where the driver refuses, recording goes on without.
#pragma once

#include "level_zero/api.h"

namespace gpuprof::injection::level_zero {

// After bind(): a new recorder knows of no samples.
void begin_stalls();

// Code is loaded for this device, and will run there. The first time, its stream is opened before this returns, so that
// no sample is missed. On the target's thread.
void sample_stalls(ze_device_handle_t device);

// What has been taken is handed over, if that can be had within some time. On our own thread.
void flush_stalls();

// The last samples are read, streams are closed, and the thread has ended; or is left alone after a second.
void end_stalls();

// The process ends: no call to the driver is begun later than that.
void stalls_at_exit(uint64_t last_call_ns);

// In the child of a fork.
void forget_stalls();

}  // namespace gpuprof::injection::level_zero
