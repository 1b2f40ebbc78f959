// What a loaded module's code says of itself.
#pragma once

#include <cstddef>

namespace gpuprof::injection::cupti {

// Whether kernels of the module can launch kernels: CUDA's device runtime is linked into it for that (CUDA 12 and
// later). False for what is no sound ELF file.
bool can_launch_kernels(const char* cubin, size_t size);

}  // namespace gpuprof::injection::cupti
