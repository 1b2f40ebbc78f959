// CUPTI's PC sampling, call by call: one context is set up, read and left.
#pragma once

#include <cstdint>

#include "cupti/sampling/pc_samples.h"

namespace gpuprof::injection::cupti {

// Of one context.
struct Sampler {
  CUcontext context;
  PcBuffer read;  // for what is asked for
  PcBuffer rest;  // CUPTI's own, from start_sampler() on: what it still has when it ends
  StallReasons reasons;
  uint64_t period;  // cycles from one sample to the next, read back; 0: not known
};

// Enables sampling; may take 130 ms. `period`: cycles, a power of two; 0: CUPTI chooses. `exact`: kernels run one at a
// time, and only what is launched in ranges is sampled; else none is held up. Where it fails, nothing is left enabled.
CUptiResult start_sampler(Sampler* sampler, uint32_t period, bool exact);

// Fills `read` with what CUPTI has at hand, as much as fits.
CUptiResult read_sampler(Sampler* sampler);

// May take 255 ms. `rest` then holds what was not read.
CUptiResult stop_sampler(Sampler* sampler);

void free_sampler(Sampler* sampler);

}  // namespace gpuprof::injection::cupti
