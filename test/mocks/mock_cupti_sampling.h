// The mock CUPTI's PC sampling. What it takes is known: a kernel of N ns has N * 2 / period samples, rounded down, the
// period being in cycles of 0.5 ns: two places, three reasons (kPlaces in mock_cupti_sampling.cpp). A fill is a kernel
// of the driver's own, whose samples are counted and not told. MOCK_SAMPLES_TAKEN: a file that gets a line each time
// that sampling is disabled: the samples of the kernels that have run since it was enabled.
#pragma once

#include "mock_gpu.h"

namespace gpuprof::mock {

void sample_op(const Op& op);
void sample_module(uint32_t id, const void* cubin, size_t bytes);
// Of what sample_module() was told.
[[nodiscard]] uint64_t crc_of_module(uint32_t id);
// False: there is no such context.
bool context_of(CUcontext context, uint32_t* id, uint32_t* device);
// Without a call of cuptiPCSamplingDisable, what was not read is lost.
void forget_sampled_context(CUcontext context);
[[nodiscard]] bool sampling_anywhere();

}  // namespace gpuprof::mock
