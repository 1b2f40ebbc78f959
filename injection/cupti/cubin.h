#pragma once

#include <cstddef>

namespace gpuprof::injection::cupti {

// Returns whether the module's kernels can launch kernels: CUDA's device runtime is then linked in (CUDA 12 and later).
// False for invalid ELF files.
bool can_launch_kernels(const char* cubin, size_t size);

}  // namespace gpuprof::injection::cupti
