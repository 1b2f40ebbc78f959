// Provides CUPTI with activity buffers and reads the records in returned buffers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti/api/cuda_abi.h"

namespace gpuprof::injection::cupti {

// Callbacks for cuptiActivityRegisterCallbacks. Callable from any thread, concurrently.
void on_buffer_requested(uint8_t** buffer, size_t* size, size_t* max_records);
void on_buffer_completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);

// Frees the buffers stored for CUPTI's next request.
void free_spare_buffers();

// Adds the records that CUPTI has dropped since the last call to the losses.
void count_dropped();

}  // namespace gpuprof::injection::cupti
