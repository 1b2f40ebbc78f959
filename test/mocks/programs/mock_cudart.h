// The CUDA runtime calls of mock_cuda_app, linked into it like a static cudart: tools see them through libcuda.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace gpuprof::mock {

CUresult runtime_launch(CUfunction function, CUstream stream);
CUresult runtime_copy_to_device(CUdeviceptr to, const void* from, size_t bytes, CUstream stream);
CUresult runtime_copy_to_host(void* to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult runtime_fill(CUdeviceptr to, size_t bytes, CUstream stream);
CUresult runtime_graph_launch(CUgraphExec exec, CUstream stream);

}  // namespace gpuprof::mock
