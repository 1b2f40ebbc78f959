// Activity buffers: memory for CUPTI, and the records that come back in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti/api/cuda_abi.h"

namespace gpuprof::injection::cupti {

// Given to cuptiActivityRegisterCallbacks. Both may be called from any thread, several at once.
void on_buffer_requested(uint8_t** buffer, size_t* size, size_t* max_records);
void on_buffer_completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);

// Frees the buffers that are kept for CUPTI's next request.
void free_spare_buffers();

// Adds what CUPTI dropped since the last call to the losses.
void count_dropped();

}  // namespace gpuprof::injection::cupti
