#pragma once

#include <cstddef>

namespace gpuprof::injection::cupti {

// Returns whether the module's kernels can launch other kernels, that is, whether CUDA's device runtime is linked in
// (CUDA 12 and later). Returns false for invalid ELF files.
bool can_launch_kernels(const char* cubin, size_t size);

}  // namespace gpuprof::injection::cupti
