// Tracks the target's lists, queues, events and event pools, also while recording is off.
#include "base/guard.h"
#include "level_zero/commands.h"
#include "level_zero/executions.h"
#include "level_zero/handle_queries.h"
#include "level_zero/hooks/timed_call.h"
#include "level_zero/objects.h"
#include "level_zero/outstanding.h"
#include "level_zero/own_events.h"
#include "level_zero/tracer.h"

namespace gpuprof::injection::level_zero {
namespace {

#define GPUPROF_CALLBACK_REST ze_result_t /*result*/, void* /*data*/, void** /*call*/
#define GPUPROF_EPILOGUE_REST ze_result_t result, void * /*data*/, void **   /*call*/

// Removes a list. Only an explicit destroy call removes objects. Those that end with their pool or context stay in the
// tables until a new object has the same handle.
void remove(List* list) {
  if (list != nullptr) {
    drop_recorded(list);
    free(list);
  }
}

void remove_list(ze_command_list_handle_t handle) {
  remove(lists.take(handle));
}

void remove(TargetEvent* event) {
  if (event != nullptr) {
    read_or_drop(event);
    free(event);
  }
}

void remove_pool(EventPool* pool) {
  if (pool == nullptr) {
    return;
  }
  const auto of_pool = [pool](const TargetEvent& event) { return event.pool == pool->handle; };
  while (TargetEvent* event = target_events.take_any(of_pool)) {
    remove(event);
  }
  free(pool);
}

void add_list(ze_context_handle_t context, ze_device_handle_t device, uint32_t ordinal, bool immediate,
              const ze_command_list_handle_t* handle) {
  const LockedCallback locked;
  if (handle == nullptr || !locked.held()) {
    return;
  }
  remove_list(*handle);
  if (List* list = lists.add(*handle); list != nullptr) {
    list->context = context;
    list->device = device;
    list->number = immediate ? next_stream() : 0;
    list->ordinal = ordinal;
    list->immediate = immediate;
  }
}

void ZE_APICALL list_created(ze_command_list_create_params_t* call_with, GPUPROF_EPILOGUE_REST) {
  if (result == ZE_RESULT_SUCCESS) {
    const uint32_t ordinal = *call_with->pdesc == nullptr ? 0 : (*call_with->pdesc)->commandQueueGroupOrdinal;
    add_list(*call_with->phContext, *call_with->phDevice, ordinal, false, *call_with->pphCommandList);
  }
}

void ZE_APICALL immediate_list_created(ze_command_list_create_immediate_params_t* call_with, GPUPROF_EPILOGUE_REST) {
  if (result == ZE_RESULT_SUCCESS) {
    const uint32_t ordinal = *call_with->paltdesc == nullptr ? 0 : (*call_with->paltdesc)->ordinal;
    add_list(*call_with->phContext, *call_with->phDevice, ordinal, true, *call_with->pphCommandList);
  }
}

void ZE_APICALL list_reset(ze_command_list_reset_params_t* call_with, GPUPROF_EPILOGUE_REST) {
  const LockedCallback locked;
  List* list = locked.held() && result == ZE_RESULT_SUCCESS ? find_or_query_list(*call_with->phCommandList) : nullptr;
  if (list != nullptr) {
    drop_recorded(list);
    list->older = false;
  }
}

void ZE_APICALL destroy_list(ze_command_list_destroy_params_t* call_with, GPUPROF_CALLBACK_REST) {
  const Guard guard;
  if (!guard.entered()) {
    return;
  }
  bool immediate = false;
  {
    const Locked locked;
    List* list = locked.held() ? lists.take(*call_with->phCommandList) : nullptr;
    immediate = list != nullptr && list->immediate;
    remove(list);
  }
  if (immediate) {
    finish_executions(*call_with->phCommandList);
  }
}

void ZE_APICALL queue_created(ze_command_queue_create_params_t* call_with, GPUPROF_EPILOGUE_REST) {
  const LockedCallback locked;
  if (result != ZE_RESULT_SUCCESS || *call_with->pphCommandQueue == nullptr || !locked.held()) {
    return;
  }
  free(queues.take(**call_with->pphCommandQueue));
  if (Queue* queue = queues.add(**call_with->pphCommandQueue); queue != nullptr) {
    queue->number = next_stream();
    queue->ordinal = *call_with->pdesc == nullptr ? 0 : (*call_with->pdesc)->ordinal;
  }
}

void ZE_APICALL destroy_queue(ze_command_queue_destroy_params_t* call_with, GPUPROF_CALLBACK_REST) {
  const Guard guard;
  if (!guard.entered()) {
    return;
  }
  finish_executions(*call_with->phCommandQueue);
  const Locked locked;
  if (locked.held()) {
    free(queues.take(*call_with->phCommandQueue));
  }
}

void ZE_APICALL pool_created(ze_event_pool_create_params_t* call_with, GPUPROF_EPILOGUE_REST) {
  const LockedCallback locked;
  if (result != ZE_RESULT_SUCCESS || *call_with->pphEventPool == nullptr || !locked.held()) {
    return;
  }
  const uint32_t flags = *call_with->pdesc == nullptr ? 0 : (*call_with->pdesc)->flags;
  remove_pool(event_pools.take(**call_with->pphEventPool));
  EventPool* pool = (flags & kMappedTimestamps) != 0 ? nullptr : event_pools.add(**call_with->pphEventPool);
  if (pool != nullptr) {
    pool->context = *call_with->phContext;
    pool->timed = (flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) != 0;
  }
}

void ZE_APICALL destroy_pool(ze_event_pool_destroy_params_t* call_with, GPUPROF_CALLBACK_REST) {
  const LockedCallback locked;
  if (locked.held()) {
    remove_pool(event_pools.take(*call_with->phEventPool));
  }
}

// Registers an event. An event stays unknown if its pool is unknown: the pool is older than the recording or belongs to
// another process.
void ZE_APICALL event_created(ze_event_create_params_t* call_with, GPUPROF_EPILOGUE_REST) {
  const LockedCallback locked;
  if (result != ZE_RESULT_SUCCESS || *call_with->pphEvent == nullptr || !locked.held()) {
    return;
  }
  remove(target_events.take(**call_with->pphEvent));
  const EventPool* pool = event_pools.find(*call_with->phEventPool);
  TargetEvent* event = pool == nullptr ? nullptr : target_events.add(**call_with->pphEvent);
  if (event != nullptr) {
    event->pool = pool->handle;
    event->timed = pool->timed;
  }
}

bool is_timed(ze_event_handle_t handle) {
  const Locked locked;
  const TargetEvent* event = locked.held() ? target_events.find(handle) : nullptr;
  return event != nullptr && event->timed;
}

// First waits for readouts that still have to read the event's time.
void ZE_APICALL destroy_event(ze_event_destroy_params_t* call_with, GPUPROF_CALLBACK_REST) {
  const Guard guard;
  if (!guard.entered()) {
    return;
  }
  if (is_timed(*call_with->phEvent)) {
    finish_executions_with(*call_with->phEvent);
  }
  const Locked locked;
  if (locked.held()) {
    remove(target_events.take(*call_with->phEvent));
  }
}

void read_or_drop_handle(ze_event_handle_t handle) {
  const Locked locked;
  TargetEvent* event = locked.held() ? target_events.find(handle) : nullptr;
  if (event != nullptr) {
    read_or_drop(event);
  }
}

void ZE_APICALL host_reset(ze_event_host_reset_params_t* call_with, GPUPROF_CALLBACK_REST) {
  const Guard guard;
  const Locked locked(guard.entered());
  TargetEvent* event = locked.held() ? target_events.find(*call_with->phEvent) : nullptr;
  if (event != nullptr) {
    read_or_drop(event);
  }
  if (event != nullptr && event->timed) {
    note_reset_by_host(*call_with->phEvent);
  }
}

void ZE_APICALL append_reset(ze_command_list_append_event_reset_params_t* call_with, GPUPROF_CALLBACK_REST) {
  const LockedCallback locked;
  List* list = locked.held() ? lists.find(*call_with->phCommandList) : nullptr;
  if (list != nullptr && !list->immediate) {
    note_reset_inside(list, *call_with->phEvent);
  } else if (TargetEvent* event = list == nullptr ? nullptr : target_events.find(*call_with->phEvent);
             event != nullptr) {
    read_or_drop(event);
  }
}

void ZE_APICALL event_asked(ze_event_query_status_params_t* call_with, GPUPROF_EPILOGUE_REST) {
  const Guard guard;
  if (guard.entered() && result == ZE_RESULT_SUCCESS) {
    read_or_drop_handle(*call_with->phEvent);
  }
}

void remove_all(ze_context_handle_t context) {
  while (List* list = lists.take_any([context](const List& one) { return one.context == context; })) {
    remove(list);
  }
  while (EventPool* pool = event_pools.take_any([context](const EventPool& one) { return one.context == context; })) {
    remove_pool(pool);
  }
}

void ZE_APICALL destroy_context(ze_context_destroy_params_t* call_with, GPUPROF_CALLBACK_REST) {
  const Guard guard;
  if (!guard.entered()) {
    return;
  }
  report_executions(false);
  const Locked locked;
  if (locked.held()) {
    drop_context(*call_with->phContext);
    drop_executions(*call_with->phContext);
    remove_all(*call_with->phContext);
    destroy_events(*call_with->phContext);
  }
}

struct Clone {
  ze_command_list_handle_t* original;
  ze_command_list_handle_t** clone;
};

// The clone of a list signals the same events as the original.
void ZE_APICALL list_cloned(Clone* call_with, GPUPROF_EPILOGUE_REST) {
  const LockedCallback locked;
  if (result != ZE_RESULT_SUCCESS || *call_with->clone == nullptr || !locked.held()) {
    return;
  }
  remove_list(**call_with->clone);
  List* original = lists.find(*call_with->original);
  List* clone = original == nullptr ? nullptr : lists.add(**call_with->clone);
  if (clone != nullptr) {
    clone->context = original->context;
    clone->device = original->device;
    clone->ordinal = original->ordinal;
    record_clone(*original, clone);
    note_shared_events(original);
  }
}

// Another event replaces the one with which the command was appended to the list.
void ZE_APICALL signal_changed(ze_command_list_handle_t** list_of, GPUPROF_CALLBACK_REST) {
  const LockedCallback locked;
  List* list = locked.held() ? lists.find(**list_of) : nullptr;
  if (list != nullptr) {
    note_shared_events(list);
  }
}

}  // namespace

void forget_all_objects() {
  const Locked locked;
  const auto any = [](const auto&) { return true; };
  while (List* list = locked.held() ? lists.take_any(any) : nullptr) {
    remove(list);
  }
  while (EventPool* pool = locked.held() ? event_pools.take_any(any) : nullptr) {
    remove_pool(pool);
  }
  while (Queue* queue = locked.held() ? queues.take_any(any) : nullptr) {
    free(queue);
  }
}

constexpr char kContext[] = "zeContextCreate";

void hook_objects(bool (*add)(const Hook& hook)) {
  const Hook hooks[] = {
      {"CommandListCreate", nullptr, as_callback(list_created), true},
      {"CommandListCreateImmediate", nullptr, as_callback(immediate_list_created), true},
      {"CommandListReset", nullptr, as_callback(list_reset), true},
      {"CommandListDestroy", as_callback(destroy_list), nullptr, true},
      {"CommandQueueCreate", nullptr, as_callback(queue_created), true},
      {"CommandQueueDestroy", as_callback(destroy_queue), nullptr, true},
      {"EventPoolCreate", nullptr, as_callback(pool_created), true},
      {"EventPoolDestroy", as_callback(destroy_pool), nullptr, true},
      {"EventCreate", nullptr, as_callback(event_created), true},
      {"EventDestroy", as_callback(destroy_event), nullptr, true},
      {"EventHostReset", as_callback(host_reset), nullptr, true},
      {"EventQueryStatus", nullptr, as_callback(event_asked), true},
      {"CommandListAppendEventReset", as_callback(append_reset), nullptr, true},
      TimedCall<kContext, true, ze_context_create_params_t>::hook(true),
      {"ContextDestroy", as_callback(destroy_context), nullptr, true},
      {"CommandListCreateCloneExp", nullptr, as_callback(list_cloned), false},
      {"CommandListUpdateMutableCommandSignalEventExp", nullptr, as_callback(signal_changed), false},
  };
  add_hooks(add, hooks);
}

}  // namespace gpuprof::injection::level_zero
