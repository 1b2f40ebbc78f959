// The mock CUPTI's PC sampling. The samples are known: a kernel of N ns has N * 2 / period samples, rounded down. The
// period is in cycles of 0.5 ns. They fall on two PCs and three reasons (kPlaces in mock_cupti_sampling.cpp). A fill is
// a kernel of the driver's own: its samples are counted but not reported. MOCK_SAMPLES_TAKEN names a file that gets a
// line each time sampling is disabled: the number of samples of the kernels that have run since sampling was enabled.
#pragma once

#include "mock_gpu.h"

namespace gpuprof::mock {

void sample_op(const Op& op);
void sample_module(uint32_t id, const void* cubin, size_t bytes);
// Returns the CRC of the code that sample_module() got for this module id.
[[nodiscard]] uint64_t crc_of_module(uint32_t id);
// Sets the id and the device of a context. Returns false if the context does not exist.
bool context_of(CUcontext context, uint32_t* id, uint32_t* device);
// Drops the unread samples of a context that is destroyed without cuptiPCSamplingDisable.
void forget_sampled_context(CUcontext context);
[[nodiscard]] bool sampling_anywhere();

}  // namespace gpuprof::mock
