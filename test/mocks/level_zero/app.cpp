#include "app.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gpuprof::mock {

void check(ze_result_t result, const char* what) {
  if (result != ZE_RESULT_SUCCESS) {
    fprintf(stderr, "%s: error %#x\n", what, static_cast<unsigned>(result));
    exit(1);
  }
}

void expect(const char* site, const char* kind, const char* name, uint64_t count, uint64_t ns) {
  printf("expected %s %s %s %llu %llu\n", site, kind, name, static_cast<unsigned long long>(count),
         static_cast<unsigned long long>(ns));
}

Gpu::Gpu(uint32_t number, int part, uint32_t driver_number) {
  uint32_t count = driver_number + 1;
  std::vector<ze_driver_handle_t> drivers(count);
  CHECK_ZE(zeDriverGet(&count, drivers.data()));
  driver = drivers.at(driver_number);
  uint32_t devices = 0;
  CHECK_ZE(zeDeviceGet(driver, &devices, nullptr));
  std::vector<ze_device_handle_t> all(devices);
  CHECK_ZE(zeDeviceGet(driver, &devices, all.data()));
  device = all.at(number);
  if (part >= 0) {
    uint32_t parts = 2;
    ze_device_handle_t both[2] = {};
    CHECK_ZE(zeDeviceGetSubDevices(device, &parts, both));
    device = both[part];
  }
  const ze_context_desc_t description = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  CHECK_ZE(zeContextCreate(driver, &description, &context));
  const ze_module_desc_t module_description = {ZE_STRUCTURE_TYPE_MODULE_DESC};
  CHECK_ZE(zeModuleCreate(context, device, &module_description, &module_, nullptr));
}

Gpu::~Gpu() {
  for (ze_command_list_handle_t list : lists_) {
    CHECK_ZE(zeCommandListDestroy(list));
  }
  for (ze_command_queue_handle_t queue : queues_) {
    CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
    CHECK_ZE(zeCommandQueueDestroy(queue));
  }
  for (ze_event_handle_t event : events_) {
    CHECK_ZE(zeEventDestroy(event));
  }
  for (ze_event_pool_handle_t pool : pools_) {
    CHECK_ZE(zeEventPoolDestroy(pool));
  }
  for (ze_kernel_handle_t kernel : kernels_) {
    CHECK_ZE(zeKernelDestroy(kernel));
  }
  for (void* memory : memory_) {
    CHECK_ZE(zeMemFree(context, memory));
  }
  CHECK_ZE(zeModuleDestroy(module_));
  CHECK_ZE(zeContextDestroy(context));
}

ze_command_list_handle_t Gpu::immediate(uint32_t ordinal, ze_command_queue_mode_t mode) {
  ze_command_queue_desc_t description = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
  description.ordinal = ordinal;
  description.mode = mode;
  ze_command_list_handle_t list = nullptr;
  CHECK_ZE(zeCommandListCreateImmediate(context, device, &description, &list));
  lists_.push_back(list);
  return list;
}

ze_command_list_handle_t Gpu::list(uint32_t ordinal) {
  ze_command_list_desc_t description = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  description.commandQueueGroupOrdinal = ordinal;
  ze_command_list_handle_t made = nullptr;
  CHECK_ZE(zeCommandListCreate(context, device, &description, &made));
  lists_.push_back(made);
  return made;
}

ze_command_queue_handle_t Gpu::queue(uint32_t ordinal) {
  ze_command_queue_desc_t description = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
  description.ordinal = ordinal;
  description.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  ze_command_queue_handle_t made = nullptr;
  CHECK_ZE(zeCommandQueueCreate(context, device, &description, &made));
  queues_.push_back(made);
  return made;
}

ze_event_pool_handle_t Gpu::pool(ze_event_pool_flags_t flags, uint32_t count) {
  const ze_event_pool_desc_t description = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr,
                                            flags | ZE_EVENT_POOL_FLAG_HOST_VISIBLE, count};
  ze_event_pool_handle_t made = nullptr;
  CHECK_ZE(zeEventPoolCreate(context, &description, 0, nullptr, &made));
  pools_.push_back(made);
  return made;
}

ze_event_handle_t Gpu::event(ze_event_pool_handle_t pool, uint32_t index) {
  const ze_event_desc_t description = {ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, index, 0, ZE_EVENT_SCOPE_FLAG_HOST};
  ze_event_handle_t made = nullptr;
  CHECK_ZE(zeEventCreate(pool, &description, &made));
  events_.push_back(made);
  return made;
}

ze_kernel_handle_t Gpu::kernel(const char* name) {
  const ze_kernel_desc_t description = {ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, name};
  ze_kernel_handle_t made = nullptr;
  CHECK_ZE(zeKernelCreate(module_, &description, &made));
  kernels_.push_back(made);
  return made;
}

void* Gpu::device_memory(size_t bytes) {
  const ze_device_mem_alloc_desc_t description = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  void* memory = nullptr;
  CHECK_ZE(zeMemAllocDevice(context, &description, bytes, 64, device, &memory));
  memory_.push_back(memory);
  return memory;
}

void* Gpu::host_memory(size_t bytes) {
  const ze_host_mem_alloc_desc_t description = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  void* memory = nullptr;
  CHECK_ZE(zeMemAllocHost(context, &description, bytes, 64, &memory));
  memory_.push_back(memory);
  return memory;
}

void Gpu::destroy_queue(ze_command_queue_handle_t queue) {
  queues_.erase(std::find(queues_.begin(), queues_.end(), queue));
  CHECK_ZE(zeCommandQueueDestroy(queue));
}

void Gpu::destroy_list(ze_command_list_handle_t list) {
  lists_.erase(std::find(lists_.begin(), lists_.end(), list));
  CHECK_ZE(zeCommandListDestroy(list));
}

void Gpu::destroy_event(ze_event_handle_t event) {
  events_.erase(std::find(events_.begin(), events_.end(), event));
  CHECK_ZE(zeEventDestroy(event));
}

void drain(Gpu& gpu, ze_command_list_handle_t list) {
  ze_event_handle_t done = gpu.event(gpu.pool(0, 1), 0);
  CHECK_ZE(zeCommandListAppendBarrier(list, done, 0, nullptr));
  CHECK_ZE(zeEventHostSynchronize(done, UINT64_MAX));
}

void launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel, ze_event_handle_t signal) {
  const ze_group_count_t groups = {1, 1, 1};
  CHECK_ZE(zeCommandListAppendLaunchKernel(list, kernel, &groups, signal, 0, nullptr));
}

namespace {

int run(const char* name, uint32_t count) {
  for (const std::vector<Case>* cases : {&kWorkCases, &kCodeCases, &kStallCases, &kHostileCases, &kStressCases}) {
    for (const Case& one : *cases) {
      if (strcmp(one.name, name) == 0) {
        one.run(count);
        return 0;
      }
    }
  }
  fprintf(stderr, "no case %s\n", name);
  return 2;
}

}  // namespace
}  // namespace gpuprof::mock

// Arguments: CASE [COUNT] ...
int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  int status = 2;
  for (int i = 1; i < argc; ++i) {
    uint32_t count = 10;
    const char* name = argv[i];
    if (i + 1 < argc && argv[i + 1][0] >= '0' && argv[i + 1][0] <= '9') {
      count = static_cast<uint32_t>(strtoul(argv[++i], nullptr, 10));
    }
    status = gpuprof::mock::run(name, count);
    if (status != 0) {
      break;
    }
  }
  return status;
}
