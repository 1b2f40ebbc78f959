// The few runtime calls that mock_cuda_app makes. Linked into the program, as a static cudart is: tools see these
// calls through libcuda.
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
