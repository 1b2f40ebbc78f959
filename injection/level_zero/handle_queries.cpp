#include "level_zero/handle_queries.h"

#include "base/atomics.h"

namespace gpuprof::injection::level_zero {
namespace {

// Functions of Level Zero 1.9, which the build's headers do not declare. They are null if the loader lacks them.
struct Getters {
  ze_result_t(ZE_APICALL* list_is_immediate)(ze_command_list_handle_t, ze_bool_t*);
  ze_result_t(ZE_APICALL* list_context)(ze_command_list_handle_t, ze_context_handle_t*);
  ze_result_t(ZE_APICALL* list_device)(ze_command_list_handle_t, ze_device_handle_t*);
  ze_result_t(ZE_APICALL* list_ordinal)(ze_command_list_handle_t, uint32_t*);
  ze_result_t(ZE_APICALL* queue_ordinal)(ze_command_queue_handle_t, uint32_t*);
  ze_result_t(ZE_APICALL* pool_of_event)(ze_event_handle_t, ze_event_pool_handle_t*);
  ze_result_t(ZE_APICALL* pool_context)(ze_event_pool_handle_t, ze_context_handle_t*);
  ze_result_t(ZE_APICALL* pool_flags)(ze_event_pool_handle_t, ze_event_pool_flags_t*);
};
Getters getters = {};
uint32_t late = 0;

template <typename Function>
void find(const char* name, Function* function) {
  *function = reinterpret_cast<Function>(find_function(name));
}

template <typename Handle, typename Value>
bool ask(ze_result_t(ZE_APICALL* getter)(Handle, Value*), Handle handle, Value* value) {
  return getter != nullptr && getter(handle, value) == ZE_RESULT_SUCCESS;
}

EventPool* find_or_query_pool(ze_event_pool_handle_t handle) {
  EventPool* pool = event_pools.find(handle);
  ze_context_handle_t context = nullptr;
  ze_event_pool_flags_t flags = 0;
  if (pool != nullptr || !ask(getters.pool_context, handle, &context) || !ask(getters.pool_flags, handle, &flags) ||
      (flags & kMappedTimestamps) != 0) {
    return pool;
  }
  pool = event_pools.add(handle);
  if (pool != nullptr) {
    pool->context = context;
    pool->timed = (flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) != 0;
  }
  return pool;
}

}  // namespace

void enable_handle_queries() {
  find("zeCommandListIsImmediate", &getters.list_is_immediate);
  find("zeCommandListGetContextHandle", &getters.list_context);
  find("zeCommandListGetDeviceHandle", &getters.list_device);
  find("zeCommandListGetOrdinal", &getters.list_ordinal);
  find("zeCommandQueueGetOrdinal", &getters.queue_ordinal);
  find("zeEventGetEventPool", &getters.pool_of_event);
  find("zeEventPoolGetContextHandle", &getters.pool_context);
  find("zeEventPoolGetFlags", &getters.pool_flags);
  store_release(&late, 1U);
}

List* find_or_query_list(ze_command_list_handle_t handle) {
  List* list = lists.find(handle);
  ze_bool_t immediate = 0;
  ze_context_handle_t context = nullptr;
  ze_device_handle_t device = nullptr;
  uint32_t ordinal = 0;
  if (list != nullptr || load_acquire(&late) == 0 || !ask(getters.list_is_immediate, handle, &immediate) ||
      !ask(getters.list_context, handle, &context) || !ask(getters.list_device, handle, &device) ||
      !ask(getters.list_ordinal, handle, &ordinal)) {
    return list;
  }
  list = lists.add(handle);
  if (list != nullptr) {
    list->context = context;
    list->device = device;
    list->number = immediate != 0 ? next_stream() : 0;
    list->ordinal = ordinal;
    list->immediate = immediate != 0;
    list->older = immediate == 0;
  }
  return list;
}

Queue* find_or_query_queue(ze_command_queue_handle_t handle) {
  Queue* queue = queues.find(handle);
  uint32_t ordinal = 0;
  if (queue != nullptr || load_acquire(&late) == 0 || !ask(getters.queue_ordinal, handle, &ordinal)) {
    return queue;
  }
  queue = queues.add(handle);
  if (queue != nullptr) {
    queue->number = next_stream();
    queue->ordinal = ordinal;
  }
  return queue;
}

TargetEvent* find_or_query_event(ze_event_handle_t handle) {
  TargetEvent* event = target_events.find(handle);
  ze_event_pool_handle_t pool_handle = nullptr;
  if (event != nullptr || load_acquire(&late) == 0 || !ask(getters.pool_of_event, handle, &pool_handle)) {
    return event;
  }
  const EventPool* pool = find_or_query_pool(pool_handle);
  event = pool == nullptr ? nullptr : target_events.add(handle);
  if (event != nullptr) {
    event->pool = pool_handle;
    event->timed = pool->timed;
  }
  return event;
}

}  // namespace gpuprof::injection::level_zero
