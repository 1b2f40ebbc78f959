// The mock libcuda's memory: allocations, frees, and migrating pages of managed memory.
#include "mock_driver.h"

using namespace gpuprof::mock;

namespace {

void tell(const MemoryOp& op) {
  if (const Tracer* tracer = driver().tracer; tracer != nullptr) {
    tracer->memory(op);
  }
}

CUresult allocate(CUdeviceptr* address, size_t bytes, CUpti_ActivityMemoryKind kind) {
  if (current_context() == nullptr || bytes == 0) {
    return bytes == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
  }
  MemoryOp op = {};
  {
    const std::lock_guard lock(driver().mutex);
    op.address = driver().last_address;
    op.bytes = bytes;
    op.device = static_cast<uint32_t>(current_context()->device);
    op.context = current_context()->id;
    op.memory_kind = static_cast<uint8_t>(kind);
    driver().last_address += (bytes + 255) / 256 * 256;
    driver().allocations[op.address] = op;
  }
  op.time_ns = now_ns();
  op.correlation = current_correlation();
  *address = op.address;
  tell(op);
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr address) {
  MemoryOp op = {};
  {
    const std::lock_guard lock(driver().mutex);
    const auto found = driver().allocations.find(address);
    if (found == driver().allocations.end()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    op = found->second;
    driver().allocations.erase(found);
  }
  op.freed = true;
  op.time_ns = now_ns();
  op.correlation = current_correlation();
  tell(op);
  return CUDA_SUCCESS;
}

void tell(CUpti_ActivityUnifiedMemoryCounterKind counter, uint64_t value, CUdeviceptr address) {
  ManagedOp op = {};
  op.counter = static_cast<uint32_t>(counter);
  op.value = value;
  op.start_ns = now_ns();
  const bool cpu_fault = counter == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT;
  op.end_ns = cpu_fault ? 0 : op.start_ns + 2000;
  op.address = address;
  op.device = static_cast<uint32_t>(current_context()->device);
  if (const Tracer* tracer = driver().tracer; tracer != nullptr) {
    tracer->managed(op);
  }
}

CUresult migrate(CUdeviceptr address, size_t bytes, bool to_gpu) {
  tell(to_gpu ? CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD
              : CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
       bytes, address);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  return MOCK_CALL(cuMemAlloc_v2, nullptr, [&] { return allocate(address, bytes, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE); });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream) {
  return MOCK_CALL(cuMemAllocAsync, nullptr,
                   [&] { return allocate(address, bytes, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE); });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned int) {
  return MOCK_CALL(cuMemAllocManaged, nullptr,
                   [&] { return allocate(address, bytes, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED); });
}

CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned int) {
  return MOCK_CALL(cuMemHostAlloc, nullptr, [&] {
    return allocate(reinterpret_cast<CUdeviceptr*>(address), bytes, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
  });
}

CUresult cuMemFree(CUdeviceptr address) {
  return MOCK_CALL(cuMemFree_v2, nullptr, [&] { return release(address); });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream) {
  return MOCK_CALL(cuMemFreeAsync, nullptr, [&] { return release(address); });
}

CUresult cuMemFreeHost(void* address) {
  return MOCK_CALL(cuMemFreeHost, nullptr, [&] { return release(reinterpret_cast<CUdeviceptr>(address)); });
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned int, CUstream) {
  return MOCK_CALL(cuMemPrefetchAsync_v2, nullptr,
                   [&] { return migrate(address, bytes, location.type == CU_MEM_LOCATION_TYPE_DEVICE); });
}

CUresult mock_cuda_page_fault(CUdeviceptr address, size_t bytes, bool by_gpu) {
  if (!usable() || current_context() == nullptr) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  tell(by_gpu ? CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT
              : CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
       by_gpu ? 3 : 0x401000, address);
  return migrate(address, bytes, by_gpu);
}

}  // extern "C"
