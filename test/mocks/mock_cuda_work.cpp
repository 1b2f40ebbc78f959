// The mock libcuda's launches, copies and fills, in the variants that programs use.
#include <cstddef>
#include <cstring>

#include "mock_driver.h"

using namespace gpuprof::mock;

namespace {

CUresult launch(CUfunction f, CUstream stream, unsigned threads) {
  if (threads == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Op op = {};
  op.name = f->name;
  op.module = f->module->id;
  return put(stream, OpKind::kernel, f->ns, op);
}

CUresult copy(CUstream stream, uint64_t bytes, CUpti_ActivityMemcpyKind kind) {
  Op op = {};
  op.bytes = bytes;
  op.copy_kind = static_cast<uint8_t>(kind);
  return put(stream, kind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP ? OpKind::peer_copy : OpKind::copy, copy_ns(bytes), op);
}

CUresult fill(CUstream stream, uint64_t bytes) {
  Op op = {};
  op.bytes = bytes;
  return put(stream, OpKind::fill, fill_ns(bytes), op);
}

// Waits for the queued work, as the blocking variant of a call does. Tools get no separate callback for the wait.
CUresult finished(CUresult result) {
  if (result == CUDA_SUCCESS) {
    const CUstream_st* stream = stream_of(nullptr);
    sleep_until(stream->free_at_ns);
  }
  return result;
}

}  // namespace

extern "C" {

CUresult cuLaunchKernel(CUfunction f, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threads_y,
                        unsigned threads_z, unsigned shared, CUstream stream, void** arguments, void** extra) {
  cuLaunchKernel_params params = {f, x, y, z, threads, threads_y, threads_z, shared, stream, arguments, extra};
  return api_call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel", f->name, &params,
                  [&] { return params.f->params > 0 ? run_ptx(params.f, params) : launch(params.f, stream, threads); });
}

CUresult mock_cuda_launch_per_thread(CUfunction f, CUstream stream) {
  return MOCK_CALL(cuLaunchKernel_ptsz, f->name, [&] { return launch(f, stream, 32); });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void**, void**) {
  return MOCK_CALL(cuLaunchKernelEx, f->name, [&] { return launch(f, config->hStream, config->blockDimX); });
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                                   unsigned, CUstream stream, void**) {
  return MOCK_CALL(cuLaunchCooperativeKernel, f->name, [&] { return launch(f, stream, threads); });
}

CUresult cuLaunchHostFunc(CUstream, CUhostFn function, void* data) {
  return MOCK_CALL(cuLaunchHostFunc, nullptr, [&] {
    function(data);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemcpyHtoD(CUdeviceptr, const void*, size_t bytes) {
  return MOCK_CALL(cuMemcpyHtoD_v2, nullptr,
                   [&] { return finished(copy(nullptr, bytes, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD)); });
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  const cuMemcpyHtoDAsync_v2_params params = {to, from, bytes, stream};
  return MOCK_CALL_WITH(cuMemcpyHtoDAsync_v2, &params, [&] {
    return bytes == 0 ? CUDA_SUCCESS : copy(stream, bytes, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
  });
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return MOCK_CALL(cuMemcpyDtoHAsync_v2, nullptr, [&] {
    if (const char* memory = device_bytes(from); memory != nullptr) {
      memcpy(to, memory, bytes);
    }
    return copy(stream, bytes, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
  });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr, CUdeviceptr, size_t bytes, CUstream stream) {
  return MOCK_CALL(cuMemcpyDtoDAsync_v2, nullptr, [&] { return copy(stream, bytes, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD); });
}

CUresult cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t bytes, CUstream stream) {
  return MOCK_CALL(cuMemcpyPeerAsync, nullptr, [&] { return copy(stream, bytes, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP); });
}

// This call makes `count` copies, which all have the call's correlation id.
CUresult cuMemcpyBatchAsync(CUdeviceptr*, CUdeviceptr*, size_t* sizes, size_t count, CUmemcpyAttributes*, size_t*,
                            size_t, CUstream stream) {
  return MOCK_CALL(cuMemcpyBatchAsync_v2, nullptr, [&] {
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; ++i) {
      result = copy(stream, sizes[i], CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
    }
    return result;
  });
}

CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t bytes, CUstream stream) {
  return MOCK_CALL(cuMemsetD8Async, nullptr, [&] { return fill(stream, bytes); });
}

}  // extern "C"
