// Probes of thread blocks (record --probe=blocks): replaces GPU code that the target loads by code with probed copies
// of the chosen kernels, and launches these copies in place of the originals. docs/decisions.md says why.
#pragma once

#include <cstdint>

#include "base/atomics.h"
#include "cupti/event_handlers.h"

namespace gpuprof::injection::cupti {

inline constinit uint32_t probing_blocks = 0;  // atomic

[[nodiscard]] inline bool probing() {
  return load_relaxed(&probing_blocks) != 0;
}

// Call them at the begin and end of a driver call that loads GPU code. The first one may replace the code, and takes as
// long as the driver needs to compile it.
void begin_load(const CUpti_CallbackData& data);
void end_load();

// Call it when code may be unloaded, before the call.
void forget_functions();

// Call it at the begin of a driver call that launches a kernel, after launch(). May replace the kernel and its
// arguments until the end of the call.
void probe_launch(const CUpti_CallbackData& data, uint64_t correlation);

// Writes how many launches and kernels were probed, and why others were not, as META records.
void report_probes();

// Returns how many bytes at the start of `name` are the target's own name of the kernel, which may be a probed copy.
size_t original_name_bytes(const char* name);

extern const EventHandlers kBlockProbes;

}  // namespace gpuprof::injection::cupti
