#include <algorithm>

#include "driver.h"

namespace gpuprof::mock {
namespace {

ze_result_t ZE_APICALL create_pool(ze_context_handle_t context, const ze_event_pool_desc_t* description,
                                   uint32_t /*count*/, ze_device_handle_t* /*devices*/, ze_event_pool_handle_t* pool) {
  const std::lock_guard<std::mutex> guard(the_lock());
  const bool timed = (description->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) != 0;
  if (timed && ze_faults().no_events) {
    return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  auto* made = make<Pool>();
  made->context = &object<Context>(context);
  made->count = description->count;
  made->timed = timed;
  ++made->context->live;
  *pool = reinterpret_cast<ze_event_pool_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL destroy_pool(ze_event_pool_handle_t pool) {
  const std::lock_guard<std::mutex> guard(the_lock());
  if (object<Pool>(pool).live != 0 && !ze_faults().lenient) {
    violation("a pool is destroyed before its events");
  }
  --object<Pool>(pool).context->live;
  destroy<Pool>(pool);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL create_event(ze_event_pool_handle_t pool, const ze_event_desc_t* description,
                                    ze_event_handle_t* event) {
  const std::lock_guard<std::mutex> guard(the_lock());
  Pool& of = object<Pool>(pool);
  if (description->index >= of.count) {
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  auto* made = make<Event>();
  made->pool = &of;
  ++of.live;
  *event = reinterpret_cast<ze_event_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

void check_unused(uint64_t busy_until, const char* what) {
  if (busy_until > now_ns() && !ze_faults().never_finish) {
    violation(what);
  }
}

ze_result_t ZE_APICALL destroy_event(ze_event_handle_t event) {
  const std::lock_guard<std::mutex> guard(the_lock());
  const Event& gone = object<Event>(event);
  check_unused(std::max(gone.busy_until, gone.read_until), "an event is destroyed that a device uses");
  --object<Event>(event).pool->live;
  destroy<Event>(event);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL signal_event(ze_event_handle_t event) {
  const std::lock_guard<std::mutex> guard(the_lock());
  object<Event>(event).signaled_at = now_ns();
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL reset_event(ze_event_handle_t event) {
  const std::lock_guard<std::mutex> guard(the_lock());
  check_unused(object<Event>(event).busy_until, "an event is reset that a device uses");
  object<Event>(event).signaled_at = kNever;
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL synchronize_event(ze_event_handle_t event, uint64_t timeout) {
  return wait_for(object<Event>(event).signaled_at, timeout);
}

ze_result_t ZE_APICALL query_event(ze_event_handle_t event) {
  const std::lock_guard<std::mutex> guard(the_lock());
  if (ze_faults().query_error) {
    return ZE_RESULT_ERROR_DEVICE_LOST;
  }
  return object<Event>(event).signaled_at <= now_ns() ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

ze_result_t ZE_APICALL query_times(ze_event_handle_t handle, ze_kernel_timestamp_result_t* times) {
  const std::lock_guard<std::mutex> guard(the_lock());
  const Event& event = object<Event>(handle);
  if (!event.pool->timed) {
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  if (ze_faults().query_error) {
    return ZE_RESULT_ERROR_DEVICE_LOST;
  }
  if (event.signaled_at > now_ns()) {
    return ZE_RESULT_NOT_READY;
  }
  const uint64_t mask = (uint64_t{1} << kKernelBits) - 1;
  *times = {};
  times->global = {event.start & mask, event.end & mask};
  times->context = times->global;
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL create_fence(ze_command_queue_handle_t /*queue*/, const ze_fence_desc_t* /*description*/,
                                    ze_fence_handle_t* fence) {
  auto* made = make<Fence>();
  *fence = reinterpret_cast<ze_fence_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL destroy_fence(ze_fence_handle_t fence) {
  destroy<Fence>(fence);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL synchronize_fence(ze_fence_handle_t fence, uint64_t timeout) {
  return wait_for(object<Fence>(fence).signaled_at, timeout);
}

ze_result_t ZE_APICALL query_fence(ze_fence_handle_t fence) {
  return wait_for(object<Fence>(fence).signaled_at, 0);
}

ze_result_t ZE_APICALL reset_fence(ze_fence_handle_t fence) {
  const std::lock_guard<std::mutex> guard(the_lock());
  object<Fence>(fence).signaled_at = kNever;
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_context(ze_event_pool_handle_t pool, ze_context_handle_t* context) {
  *context = reinterpret_cast<ze_context_handle_t>(object<Pool>(pool).context);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_flags(ze_event_pool_handle_t pool, ze_event_pool_flags_t* flags) {
  *flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
  if (object<Pool>(pool).timed) {
    *flags |= ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_pool(ze_event_handle_t event, ze_event_pool_handle_t* pool) {
  *pool = reinterpret_cast<ze_event_pool_handle_t>(object<Event>(event).pool);
  return ZE_RESULT_SUCCESS;
}

}  // namespace

void fill_newer_pools(void** table, uint32_t version) {
  if (version >= kGettersVersion) {
    table[6] = reinterpret_cast<void*>(get_context);
    table[7] = reinterpret_cast<void*>(get_flags);
  }
}

void fill_newer_events(void** table, uint32_t version) {
  if (version >= kGettersVersion) {
    table[8] = reinterpret_cast<void*>(get_pool);
  }
}

void fill(ze_event_pool_dditable_t& table) {
  table.pfnCreate = create_pool;
  table.pfnDestroy = destroy_pool;
}

void fill(ze_event_dditable_t& table) {
  table.pfnCreate = create_event;
  table.pfnDestroy = destroy_event;
  table.pfnHostSignal = signal_event;
  table.pfnHostSynchronize = synchronize_event;
  table.pfnQueryStatus = query_event;
  table.pfnHostReset = reset_event;
  table.pfnQueryKernelTimestamp = query_times;
}

void fill(ze_fence_dditable_t& table) {
  table.pfnCreate = create_fence;
  table.pfnDestroy = destroy_fence;
  table.pfnHostSynchronize = synchronize_fence;
  table.pfnQueryStatus = query_fence;
  table.pfnReset = reset_fence;
}

}  // namespace gpuprof::mock
