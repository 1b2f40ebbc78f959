// A loader's second way to find tables: through a handle, laid out like Level Zero 1.17's ze_dditable_driver_t.
#include "driver.h"

namespace gpuprof::mock {
namespace {

template <typename Table>
const Table* filled() {
  static Wide<Table> wide = [] {
    Wide<Table> made = {};
    fill(made.table);
    return made;
  }();
  return &wide.table;
}

const void* empty() {
  static void* none[64] = {};
  return none;
}

const void* list_exp() {
  static void* table[64] = {};
  fill_exp(table);
  return table;
}

template <typename Table>
const Table* filled_with_newer(void (*fill_newer)(void**, uint32_t)) {
  static Wide<Table> wide = {};
  fill(wide.table);
  fill_newer(reinterpret_cast<void**>(&wide), kNewerVersion);
  return &wide.table;
}

struct CoreTables {
  ze_api_version_t version = static_cast<ze_api_version_t>(ZE_MAKE_VERSION(1, 13));
  uint8_t valid = 1;
  const void* ray_tracing[4] = {empty(), empty(), empty(), empty()};
  const ze_global_dditable_t* global = filled<ze_global_dditable_t>();
  const ze_driver_dditable_t* driver = filled<ze_driver_dditable_t>();
  const void* driver_exp = empty();
  const ze_device_dditable_t* device = filled<ze_device_dditable_t>();
  const void* device_exp = empty();
  const ze_context_dditable_t* context = filled<ze_context_dditable_t>();
  const ze_command_queue_dditable_t* queue = filled_with_newer<ze_command_queue_dditable_t>(fill_newer_queues);
  const ze_command_list_dditable_t* list = filled_with_newer<ze_command_list_dditable_t>(fill_newer_lists);
  const void* list_exp = gpuprof::mock::list_exp();
  const ze_image_dditable_t* image = filled<ze_image_dditable_t>();
  const void* image_exp = empty();
  const ze_mem_dditable_t* memory = filled<ze_mem_dditable_t>();
  const void* memory_exp = empty();
  const ze_fence_dditable_t* fence = filled<ze_fence_dditable_t>();
  const ze_event_pool_dditable_t* pool = filled_with_newer<ze_event_pool_dditable_t>(fill_newer_pools);
  const ze_event_dditable_t* event = filled_with_newer<ze_event_dditable_t>(fill_newer_events);
  const void* event_exp = empty();
  const ze_module_dditable_t* module = filled<ze_module_dditable_t>();
  const void* module_log = empty();
  const ze_kernel_dditable_t* kernel = filled<ze_kernel_dditable_t>();
  const void* rest[8] = {empty(), empty(), empty(), empty(), empty(), empty(), empty(), empty()};
};

}  // namespace

const void* core_tables() {
  static const CoreTables tables;
  return &tables;
}

}  // namespace gpuprof::mock
