// One recording of a process, for all vendors: how it begins in the two ways into a process, and how it ends.
#pragma once

#include <cstdint>

#include "base/atomics.h"
#include "runtime/vendor.h"

namespace gpuprof::injection {

inline constinit uint32_t forked = 0;  // atomic

// Whether this process was forked by one that had begun a recording.
[[nodiscard]] inline bool in_fork() {
  return load_relaxed(&forked) != 0;
}

// For the vendor's call into us in a process that the recorder started. False: there is a recording, or it could not be
// made; profiling is off then. `vendor` must last.
bool begin_recording(const Vendor& vendor);

// For `record -p`: starts a thread of ours that connects to the recorder, which runs as `user`, has the vendor
// subscribe, and stays until the recorder takes us out again or is gone. Returns at once: 0, or an errno (EBUSY: this
// process is being recorded; ECHILD: in_fork()). Only where the vendor has a Flush.
int attach(const Vendor& vendor, const char* socket, const char* token, unsigned user);

}  // namespace gpuprof::injection
