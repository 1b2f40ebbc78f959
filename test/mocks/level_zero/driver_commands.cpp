#include <cstring>

#include "driver.h"

namespace gpuprof::mock {
namespace {

constexpr uint64_t kCopyCycles = 96;  // 5 us
constexpr uint64_t kFillCycles = 48;  // 2.5 us

std::vector<Event*> events_of(uint32_t count, ze_event_handle_t* handles) {
  std::vector<Event*> events;
  for (uint32_t i = 0; i < count; ++i) {
    events.push_back(&object<Event>(handles[i]));
  }
  return events;
}

Event* event_or_null(ze_event_handle_t handle) {
  return handle == nullptr ? nullptr : &object<Event>(handle);
}

ze_result_t append(ze_command_list_handle_t handle, Step step) {
  uint64_t over = 0;
  {
    const std::lock_guard<std::mutex> guard(the_lock());
    List& list = object<List>(handle);
    if (!list.immediate) {
      if (list.closed) {
        violation("a command is appended to a list that is closed");
      }
      list.steps.push_back(std::move(step));
      return ZE_RESULT_SUCCESS;
    }
    run(list.timeline, step, *list.device);
    over = list.synchronous ? list.timeline.free_at : 0;
  }
  if (over != 0) {
    wait_until(over);
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t append_work(ze_command_list_handle_t list, uint64_t cycles, ze_event_handle_t signal, uint32_t wait_count,
                        ze_event_handle_t* waits, std::vector<const Kernel*> kernels = {}) {
  Step step{Action::work};
  step.cycles = cycles;
  step.kernels = std::move(kernels);
  step.signal = event_or_null(signal);
  step.waits = events_of(wait_count, waits);
  return append(list, std::move(step));
}

ze_result_t append_kernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel, ze_event_handle_t signal,
                          uint32_t wait_count, ze_event_handle_t* waits) {
  if (ze_faults().append_error) {
    return ZE_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE;
  }
  if (object<List>(list).ordinal == kCopyOrdinal) {
    violation("a kernel is launched on a queue that can only copy");
  }
  const Kernel& launched = object<Kernel>(kernel);
  return append_work(list, launched.cycles, signal, wait_count, waits, {&launched});
}

ze_result_t ZE_APICALL launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                              const ze_group_count_t* /*groups*/, ze_event_handle_t signal, uint32_t wait_count,
                              ze_event_handle_t* waits) {
  return append_kernel(list, kernel, signal, wait_count, waits);
}

ze_result_t ZE_APICALL launch_several(ze_command_list_handle_t list, uint32_t count, ze_kernel_handle_t* kernels,
                                      const uint32_t* /*count_buffer*/, const ze_group_count_t* /*groups*/,
                                      ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t* waits) {
  uint64_t cycles = 0;
  for (uint32_t i = 0; i < count; ++i) {
    cycles += object<Kernel>(kernels[i]).cycles;
  }
  return append_work(list, cycles, signal, wait_count, waits);
}

ze_result_t ZE_APICALL copy(ze_command_list_handle_t list, void* to, const void* from, size_t bytes,
                            ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t* waits) {
  memmove(to, from, bytes);
  return append_work(list, kCopyCycles, signal, wait_count, waits);
}

ze_result_t ZE_APICALL copy_region(ze_command_list_handle_t list, void* /*to*/, const ze_copy_region_t* /*to_region*/,
                                   uint32_t /*to_pitch*/, uint32_t /*to_slice*/, const void* /*from*/,
                                   const ze_copy_region_t* /*from_region*/, uint32_t /*from_pitch*/,
                                   uint32_t /*from_slice*/, ze_event_handle_t signal, uint32_t wait_count,
                                   ze_event_handle_t* waits) {
  return append_work(list, kCopyCycles, signal, wait_count, waits);
}

ze_result_t ZE_APICALL append_fill(ze_command_list_handle_t list, void* /*to*/, const void* /*pattern*/,
                                   size_t /*pattern_bytes*/, size_t /*bytes*/, ze_event_handle_t signal,
                                   uint32_t wait_count, ze_event_handle_t* waits) {
  return append_work(list, kFillCycles, signal, wait_count, waits);
}

ze_result_t ZE_APICALL copy_image(ze_command_list_handle_t list, ze_image_handle_t to, ze_image_handle_t from,
                                  ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t* waits) {
  object<Image>(to);
  object<Image>(from);
  return append_work(list, kCopyCycles, signal, wait_count, waits);
}

ze_result_t ZE_APICALL copy_image_to(ze_command_list_handle_t list, void* /*to*/, ze_image_handle_t from,
                                     const ze_image_region_t* /*region*/, uint32_t /*row*/, uint32_t /*slice*/,
                                     ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t* waits) {
  return copy_image(list, from, from, signal, wait_count, waits);
}

ze_result_t ZE_APICALL copy_image_from(ze_command_list_handle_t list, ze_image_handle_t to, const void* /*from*/,
                                       const ze_image_region_t* /*region*/, uint32_t /*row*/, uint32_t /*slice*/,
                                       ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t* waits) {
  return copy_image(list, to, to, signal, wait_count, waits);
}

ze_result_t ZE_APICALL barrier(ze_command_list_handle_t list, ze_event_handle_t signal, uint32_t wait_count,
                               ze_event_handle_t* waits) {
  return append_work(list, 0, signal, wait_count, waits);
}

ze_result_t ZE_APICALL append_signal(ze_command_list_handle_t list, ze_event_handle_t event) {
  return append_work(list, 0, event, 0, nullptr);
}

ze_result_t ZE_APICALL append_waits(ze_command_list_handle_t list, uint32_t count, ze_event_handle_t* events) {
  return append_work(list, 0, nullptr, count, events);
}

ze_result_t ZE_APICALL append_reset(ze_command_list_handle_t list, ze_event_handle_t event) {
  Step step{Action::reset};
  step.events = events_of(1, &event);
  return append(list, std::move(step));
}

ze_result_t ZE_APICALL append_query(ze_command_list_handle_t list, uint32_t count, ze_event_handle_t* events, void* to,
                                    const size_t* offsets, ze_event_handle_t signal, uint32_t wait_count,
                                    ze_event_handle_t* waits) {
  if (ze_faults().no_query || object<List>(list).ordinal == kCopyOrdinal) {
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  }
  if (count == 0 || offsets != nullptr) {
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  Step step{Action::query};
  step.signal = event_or_null(signal);
  step.waits = events_of(wait_count, waits);
  step.events = events_of(count, events);
  step.times = static_cast<ze_kernel_timestamp_result_t*>(to);
  for (const Event* event : step.events) {
    if (!event->pool->timed) {
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
  }
  return append(list, std::move(step));
}

ze_result_t ZE_APICALL clone_list(ze_command_list_handle_t list, ze_command_list_handle_t* clone) {
  const std::lock_guard<std::mutex> guard(the_lock());
  const List& original = object<List>(list);
  auto* made = make<List>();
  *made = original;
  ++made->context->live;
  *clone = reinterpret_cast<ze_command_list_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

List* make_list(ze_context_handle_t context, ze_device_handle_t device) {
  auto* made = make<List>();
  made->context = &object<Context>(context);
  made->device = &object<Device>(device);
  ++made->context->live;
  return made;
}

ze_result_t ZE_APICALL create_list(ze_context_handle_t context, ze_device_handle_t device,
                                   const ze_command_list_desc_t* description, ze_command_list_handle_t* list) {
  const std::lock_guard<std::mutex> guard(the_lock());
  List* made = make_list(context, device);
  made->ordinal = description->commandQueueGroupOrdinal;
  *list = reinterpret_cast<ze_command_list_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL create_immediate(ze_context_handle_t context, ze_device_handle_t device,
                                        const ze_command_queue_desc_t* description, ze_command_list_handle_t* list) {
  const std::lock_guard<std::mutex> guard(the_lock());
  List* made = make_list(context, device);
  made->immediate = true;
  made->ordinal = description->ordinal;
  made->synchronous = description->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  *list = reinterpret_cast<ze_command_list_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

// An incorrect program may destroy a running list; this driver survives that.
ze_result_t ZE_APICALL destroy_list(ze_command_list_handle_t list) {
  const std::lock_guard<std::mutex> guard(the_lock());
  --object<List>(list).context->live;
  destroy<List>(list);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL close_list(ze_command_list_handle_t list) {
  object<List>(list).closed = true;
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL reset_list(ze_command_list_handle_t list) {
  object<List>(list).closed = false;
  object<List>(list).steps.clear();
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL create_queue(ze_context_handle_t context, ze_device_handle_t device,
                                    const ze_command_queue_desc_t* description, ze_command_queue_handle_t* queue) {
  const std::lock_guard<std::mutex> guard(the_lock());
  auto* made = make<Queue>();
  made->context = &object<Context>(context);
  made->device = &object<Device>(device);
  made->ordinal = description->ordinal;
  made->synchronous = description->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  *queue = reinterpret_cast<ze_command_queue_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL destroy_queue(ze_command_queue_handle_t queue) {
  if (object<Queue>(queue).timeline.free_at > now_ns() && !ze_faults().never_finish) {
    violation("a queue is destroyed that has work");
  }
  destroy<Queue>(queue);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL execute(ze_command_queue_handle_t handle, uint32_t count, ze_command_list_handle_t* lists,
                               ze_fence_handle_t fence) {
  uint64_t over = 0;
  bool synchronous = false;
  {
    const std::lock_guard<std::mutex> guard(the_lock());
    Queue& queue = object<Queue>(handle);
    for (uint32_t i = 0; i < count; ++i) {
      List& list = object<List>(lists[i]);
      if (!list.closed || list.ordinal != queue.ordinal) {
        violation("a list is executed that is open, or made for another group of queues");
      }
      for (const Step& step : list.steps) {
        run(queue.timeline, step, *queue.device);
      }
    }
    over = queue.timeline.free_at;
    synchronous = queue.synchronous;
    if (fence != nullptr) {
      object<Fence>(fence).signaled_at = over > now_ns() ? over : now_ns();
    }
  }
  if (synchronous) {
    wait_until(over);
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL synchronize_queue(ze_command_queue_handle_t queue, uint64_t timeout) {
  return wait_for(object<Queue>(queue).timeline.free_at, timeout);
}

ze_result_t ZE_APICALL launch_with_parameters(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                              const ze_group_count_t* /*groups*/, const void* /*next*/,
                                              ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t* waits) {
  return append_kernel(list, kernel, signal, wait_count, waits);
}

struct GroupSize {
  uint32_t x, y, z;
};

ze_result_t ZE_APICALL launch_with_arguments(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                             ze_group_count_t /*groups*/, GroupSize /*size*/, void** /*arguments*/,
                                             const void* /*next*/, ze_event_handle_t signal, uint32_t wait_count,
                                             ze_event_handle_t* waits) {
  return append_kernel(list, kernel, signal, wait_count, waits);
}

ze_result_t ZE_APICALL synchronize_list(ze_command_list_handle_t list, uint64_t timeout) {
  return wait_for(object<List>(list).timeline.free_at, timeout);
}

ze_result_t ZE_APICALL append_lists(ze_command_list_handle_t immediate, uint32_t count, ze_command_list_handle_t* lists,
                                    ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t* waits) {
  for (uint32_t i = 0; i < count; ++i) {
    const List& list = object<List>(lists[i]);
    if (!list.closed) {
      violation("a list is executed that is open");
    }
    for (const Step& step : list.steps) {
      append(immediate, step);
    }
  }
  return append_work(immediate, 0, signal, wait_count, waits);
}

ze_result_t ZE_APICALL append_lists_with_parameters(ze_command_list_handle_t immediate, uint32_t count,
                                                    ze_command_list_handle_t* lists, const void* /*next*/,
                                                    ze_event_handle_t signal, uint32_t wait_count,
                                                    ze_event_handle_t* waits) {
  return append_lists(immediate, count, lists, signal, wait_count, waits);
}

ze_result_t ZE_APICALL get_device(ze_command_list_handle_t list, ze_device_handle_t* device) {
  *device = reinterpret_cast<ze_device_handle_t>(object<List>(list).device);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_context(ze_command_list_handle_t list, ze_context_handle_t* context) {
  *context = reinterpret_cast<ze_context_handle_t>(object<List>(list).context);
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_ordinal(ze_command_list_handle_t list, uint32_t* ordinal) {
  *ordinal = object<List>(list).ordinal;
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL is_immediate(ze_command_list_handle_t list, ze_bool_t* immediate) {
  *immediate = object<List>(list).immediate ? 1 : 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL get_queue_ordinal(ze_command_queue_handle_t queue, uint32_t* ordinal) {
  *ordinal = object<Queue>(queue).ordinal;
  return ZE_RESULT_SUCCESS;
}

template <typename Function>
void* entry(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

void fill_newer_lists(void** list_table, uint32_t version) {
  if (version >= kGettersVersion) {
    list_table[28] = entry(synchronize_list);
    list_table[29] = entry(get_device);
    list_table[30] = entry(get_context);
    list_table[31] = entry(get_ordinal);
    list_table[33] = entry(is_immediate);
  }
  if (version >= kNewerVersion) {
    list_table[36] = entry(launch_with_parameters);
    list_table[37] = entry(launch_with_arguments);
    list_table[40] = entry(append_lists_with_parameters);
  }
}

void fill_newer_queues(void** table, uint32_t version) {
  if (version >= kGettersVersion) {
    table[4] = entry(get_queue_ordinal);
  }
}

void fill_exp(void** list_exp_table) {
  list_exp_table[0] = entry(clone_list);
  list_exp_table[1] = entry(append_lists);
}

void fill(ze_command_list_dditable_t& table) {
  table.pfnCreate = create_list;
  table.pfnCreateImmediate = create_immediate;
  table.pfnDestroy = destroy_list;
  table.pfnClose = close_list;
  table.pfnReset = reset_list;
  table.pfnAppendBarrier = barrier;
  table.pfnAppendMemoryCopy = copy;
  table.pfnAppendMemoryFill = append_fill;
  table.pfnAppendMemoryCopyRegion = copy_region;
  table.pfnAppendImageCopy = copy_image;
  table.pfnAppendImageCopyToMemoryExt = copy_image_to;
  table.pfnAppendImageCopyFromMemoryExt = copy_image_from;
  table.pfnAppendSignalEvent = append_signal;
  table.pfnAppendWaitOnEvents = append_waits;
  table.pfnAppendEventReset = append_reset;
  table.pfnAppendQueryKernelTimestamps = append_query;
  table.pfnAppendLaunchKernel = launch;
  table.pfnAppendLaunchCooperativeKernel = launch;
  table.pfnAppendLaunchKernelIndirect = launch;
  table.pfnAppendLaunchMultipleKernelsIndirect = launch_several;
}

void fill(ze_command_queue_dditable_t& table) {
  table.pfnCreate = create_queue;
  table.pfnDestroy = destroy_queue;
  table.pfnExecuteCommandLists = execute;
  table.pfnSynchronize = synchronize_queue;
}

}  // namespace gpuprof::mock
