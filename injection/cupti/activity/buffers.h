// Provides CUPTI with activity buffers and reads the records in returned buffers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupti/api/cuda_abi.h"

namespace gpuprof::injection::cupti {

// Callbacks for cuptiActivityRegisterCallbacks. Callable from any thread, concurrently.
void on_buffer_requested(uint8_t** buffer, size_t* size, size_t* max_records);
void on_buffer_completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);

void free_spare_buffers();

// Asks CUPTI how many records it has dropped since the last call, and counts them as lost.
void count_dropped();

}  // namespace gpuprof::injection::cupti
