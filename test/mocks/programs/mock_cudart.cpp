#include "mock_cudart.h"

#include <cupti_callbacks.h>
#include <cupti_runtime_cbid.h>

#include "mock_gpu.h"

namespace gpuprof::mock {
namespace {

template <typename Inner>
CUresult runtime_call(uint32_t id, const char* name, const char* symbol, Inner inner) {
  mock_cuda_enter(Domain::runtime, id, name, symbol);
  const CUresult result = inner();
  mock_cuda_exit(Domain::runtime, id, name, symbol, result);
  return result;
}

}  // namespace

CUresult runtime_launch(CUfunction function, CUstream stream) {
  return runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel_v7000",
                      mock_cuda_function_name(function),
                      [&] { return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr); });
}

CUresult runtime_copy_to_device(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, "cudaMemcpyAsync_v3020", nullptr,
                      [&] { return cuMemcpyHtoDAsync(to, from, bytes, stream); });
}

CUresult runtime_copy_to_host(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, "cudaMemcpyAsync_v3020", nullptr,
                      [&] { return cuMemcpyDtoHAsync(to, from, bytes, stream); });
}

CUresult runtime_fill(CUdeviceptr to, size_t bytes, CUstream stream) {
  return runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020, "cudaMemsetAsync_v3020", nullptr,
                      [&] { return cuMemsetD8Async(to, 0, bytes, stream); });
}

CUresult runtime_graph_launch(CUgraphExec exec, CUstream stream) {
  return runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, "cudaGraphLaunch_v10000", nullptr,
                      [&] { return cuGraphLaunch(exec, stream); });
}

}  // namespace gpuprof::mock
