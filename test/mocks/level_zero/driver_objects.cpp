#include <cstdlib>
#include <cstring>
#include <map>

#include "driver.h"

namespace gpuprof::mock {
namespace {

struct Allocation {
  size_t bytes;
  ze_memory_type_t type;
  ze_device_handle_t device;
};

std::map<uintptr_t, Allocation>& allocations() {
  static auto* all = new std::map<uintptr_t, Allocation>;  // never freed: used until the process ends
  return *all;
}

ze_result_t ZE_APICALL create_context(ze_driver_handle_t /*driver*/, const ze_context_desc_t* /*description*/,
                                      ze_context_handle_t* context) {
  auto* made = make<Context>();
  *context = reinterpret_cast<ze_context_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL destroy_context(ze_context_handle_t context) {
  const std::lock_guard<std::mutex> guard(the_lock());
  if (object<Context>(context).live != 0 && !ze_faults().lenient) {
    violation("a context is destroyed before what was made in it");
  }
  destroy<Context>(context);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL create_image(ze_context_handle_t /*context*/, ze_device_handle_t /*device*/,
                                    const ze_image_desc_t* /*description*/, ze_image_handle_t* image) {
  *image = reinterpret_cast<ze_image_handle_t>(make<Image>());
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL destroy_image(ze_image_handle_t image) {
  destroy<Image>(image);
  return ZE_RESULT_SUCCESS;
}

ze_result_t allocate(size_t bytes, ze_memory_type_t type, ze_device_handle_t device, void** memory) {
  const std::lock_guard<std::mutex> guard(the_lock());
  *memory = calloc(1, bytes);
  allocations()[reinterpret_cast<uintptr_t>(*memory)] = {bytes, type, device};
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL allocate_host(ze_context_handle_t /*context*/, const ze_host_mem_alloc_desc_t* /*description*/,
                                     size_t bytes, size_t /*alignment*/, void** memory) {
  return allocate(bytes, ZE_MEMORY_TYPE_HOST, nullptr, memory);
}

ze_result_t ZE_APICALL allocate_device(ze_context_handle_t /*context*/,
                                       const ze_device_mem_alloc_desc_t* /*description*/, size_t bytes,
                                       size_t /*alignment*/, ze_device_handle_t device, void** memory) {
  return allocate(bytes, ZE_MEMORY_TYPE_DEVICE, device, memory);
}

ze_result_t ZE_APICALL allocate_shared(ze_context_handle_t /*context*/,
                                       const ze_device_mem_alloc_desc_t* /*description*/,
                                       const ze_host_mem_alloc_desc_t* /*host*/, size_t bytes, size_t /*alignment*/,
                                       ze_device_handle_t device, void** memory) {
  return allocate(bytes, ZE_MEMORY_TYPE_SHARED, device, memory);
}

ze_result_t ZE_APICALL free_memory(ze_context_handle_t /*context*/, void* memory) {
  const std::lock_guard<std::mutex> guard(the_lock());
  if (allocations().erase(reinterpret_cast<uintptr_t>(memory)) == 0) {
    violation("memory is freed that was not allocated");
  }
  free(memory);
  return ZE_RESULT_SUCCESS;
}

// Returns null if this driver did not allocate the memory.
const std::pair<const uintptr_t, Allocation>* find(const void* memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  auto after = allocations().upper_bound(address);
  if (after == allocations().begin()) {
    return nullptr;
  }
  --after;
  return address < after->first + after->second.bytes ? &*after : nullptr;
}

ze_result_t ZE_APICALL get_properties(ze_context_handle_t /*context*/, const void* memory,
                                      ze_memory_allocation_properties_t* properties, ze_device_handle_t* device) {
  const std::lock_guard<std::mutex> guard(the_lock());
  const auto* found = find(memory);
  properties->type = found == nullptr ? ZE_MEMORY_TYPE_UNKNOWN : found->second.type;
  if (device != nullptr) {
    *device = found == nullptr ? nullptr : found->second.device;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_range(ze_context_handle_t /*context*/, const void* memory, void** base, size_t* bytes) {
  const std::lock_guard<std::mutex> guard(the_lock());
  const auto* found = find(memory);
  if (found == nullptr) {
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  if (base != nullptr) {
    *base = reinterpret_cast<void*>(found->first);
  }
  if (bytes != nullptr) {
    *bytes = found->second.bytes;
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace

void fill(ze_context_dditable_t& table) {
  table.pfnCreate = create_context;
  table.pfnDestroy = destroy_context;
}

void fill(ze_image_dditable_t& table) {
  table.pfnCreate = create_image;
  table.pfnDestroy = destroy_image;
}

void fill(ze_mem_dditable_t& table) {
  table.pfnAllocHost = allocate_host;
  table.pfnAllocDevice = allocate_device;
  table.pfnAllocShared = allocate_shared;
  table.pfnFree = free_memory;
  table.pfnGetAllocProperties = get_properties;
  table.pfnGetAddressRange = get_range;
}

}  // namespace gpuprof::mock
