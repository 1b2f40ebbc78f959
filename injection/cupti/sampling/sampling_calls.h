// Wraps CUPTI's PC sampling: start, read and stop in one context.
#pragma once

#include <cstdint>

#include "cupti/sampling/pc_samples.h"

namespace gpuprof::injection::cupti {

struct Sampler {
  CUcontext context;
  PcBuffer read;  // filled by read_sampler()
  // CUPTI uses this buffer until stop_sampler(). Afterwards it contains the samples that were not read yet.
  PcBuffer rest;
  StallReasons reasons;
  uint64_t period;  // number of cycles between two samples, as CUPTI reports it; 0: unknown
};

// Enables sampling, which may take 130 ms. `period` is in cycles and a power of two; 0 means CUPTI's default. If
// `exact` is true, kernels run one at a time, and only launches in ranges are sampled. On failure nothing stays
// enabled.
CUptiResult start_sampler(Sampler* sampler, uint32_t period, bool exact);

// Fills `read` with samples that CUPTI holds, as many as fit.
CUptiResult read_sampler(Sampler* sampler);

// Stops sampling; may take 255 ms. Afterwards `rest` holds the samples that were not read.
CUptiResult stop_sampler(Sampler* sampler);

void free_sampler(Sampler* sampler);

}  // namespace gpuprof::injection::cupti
