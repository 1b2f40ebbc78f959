#include "level_zero/readout.h"

#include <cstdlib>
#include <cstring>

#include "level_zero/api/newer_api.h"
#include "level_zero/own_events.h"

namespace gpuprof::injection::level_zero {
namespace {

void free_readout(ze_context_handle_t context, Readout* readout) {
  if (readout->list != nullptr) {
    api.zeCommandListDestroy(readout->list);
  }
  if (readout->times != nullptr) {
    api.zeMemFree(context, readout->times);
  }
  give_back(readout->done);
  free(readout);
}

// Appends a command that copies the events' times. Returns false if the device does not support this.
bool append_query(Readout* readout, const Recorded& recorded) {
  auto* events = static_cast<ze_event_handle_t*>(malloc(recorded.count * sizeof(ze_event_handle_t)));
  if (events == nullptr) {
    return false;
  }
  uint32_t count = 0;
  for (uint32_t i = 0; i < recorded.count; ++i) {
    events[count] = event_of(recorded.works[i]);
    count += events[count] != nullptr ? 1 : 0;
  }
  const bool appended =
      count == 0 || (api.zeCommandListAppendQueryKernelTimestamps(readout->list, count, events, readout->times, nullptr,
                                                                  nullptr, 0, nullptr) == ZE_RESULT_SUCCESS &&
                     api.zeCommandListAppendBarrier(readout->list, nullptr, 0, nullptr) == ZE_RESULT_SUCCESS);
  free(events);
  return appended;
}

bool append_resets(Readout* readout, const Recorded& recorded) {
  for (uint32_t i = 0; i < recorded.count; ++i) {
    const OwnEvent* own = recorded.works[i].own;
    if (own != nullptr && api.zeCommandListAppendEventReset(readout->list, own->handle) != ZE_RESULT_SUCCESS) {
      return false;
    }
  }
  return true;
}

// Writes the readout list. Its barriers make sure that earlier work finishes first, and that later work finds the
// events reset.
bool write_list(Readout* readout, const Recorded& recorded, bool query) {
  ze_command_list_desc_t description = {};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
  description.commandQueueGroupOrdinal = readout->ordinal;
  if (api.zeCommandListCreate(recorded.context, recorded.device_handle, &description, &readout->list) !=
      ZE_RESULT_SUCCESS) {
    readout->list = nullptr;
    return false;
  }
  const bool written =
      api.zeCommandListAppendBarrier(readout->list, nullptr, 0, nullptr) == ZE_RESULT_SUCCESS &&
      (!query || (append_query(readout, recorded) && append_resets(readout, recorded))) &&
      api.zeCommandListAppendBarrier(readout->list, readout->done->handle, 0, nullptr) == ZE_RESULT_SUCCESS &&
      api.zeCommandListClose(readout->list) == ZE_RESULT_SUCCESS;
  if (!written) {
    api.zeCommandListDestroy(readout->list);
    readout->list = nullptr;
  }
  return written;
}

bool allocate_times(Readout* readout, const Recorded& recorded) {
  ze_host_mem_alloc_desc_t description = {};
  description.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
  void* memory = nullptr;
  if (api.zeMemAllocHost(recorded.context, &description, recorded.count * sizeof(*readout->times), 64, &memory) !=
      ZE_RESULT_SUCCESS) {
    return false;
  }
  if (memory == nullptr) {
    return false;
  }
  memset(memory, 0, recorded.count * sizeof(*readout->times));
  readout->times = static_cast<ze_kernel_timestamp_result_t*>(memory);
  return true;
}

}  // namespace

ze_event_handle_t event_of(const Work& work) {
  return work.own != nullptr ? work.own->handle : work.users;
}

Readout* make_readout(Recorded* recorded, uint32_t ordinal) {
  auto* readout = static_cast<Readout*>(calloc(1, sizeof(Readout)));
  if (readout == nullptr) {
    return nullptr;
  }
  readout->recorded = recorded;
  readout->ordinal = ordinal;
  readout->done = take_event(recorded->context);
  if (readout->done == nullptr) {
    free(readout);
    return nullptr;
  }
  if (!recorded->cannot_query && (!allocate_times(readout, *recorded) || !write_list(readout, *recorded, true))) {
    recorded->cannot_query = true;
  }
  if (recorded->cannot_query) {
    if (readout->times != nullptr) {
      api.zeMemFree(recorded->context, readout->times);
      readout->times = nullptr;
    }
    if (!write_list(readout, *recorded, false)) {
      free_readout(recorded->context, readout);
      return nullptr;
    }
  }
  return readout;
}

void free_recorded(Recorded* recorded) {
  while (recorded->idle != nullptr) {
    Readout* readout = recorded->idle;
    recorded->idle = readout->next;
    free_readout(recorded->context, readout);
  }
  // If the list is no longer timed, a device may still use its events, so they are leaked.
  for (uint32_t i = 0; i < recorded->count && !recorded->untimed; ++i) {
    give_back(recorded->works[i].own);
  }
  free(recorded->works);
  free(recorded);
}

bool submit(Readout* readout, const Target& target) {
  if (!target.immediate) {
    return api.zeCommandQueueExecuteCommandLists(static_cast<ze_command_queue_handle_t>(target.handle), 1,
                                                 &readout->list, nullptr) == ZE_RESULT_SUCCESS;
  }
  const auto append = reinterpret_cast<newer::ImmediateAppendCommandLists>(
      find_function("zeCommandListImmediateAppendCommandListsExp"));
  return append != nullptr && append(static_cast<ze_command_list_handle_t>(target.handle), 1, &readout->list, nullptr,
                                     0, nullptr) == ZE_RESULT_SUCCESS;
}

}  // namespace gpuprof::injection::level_zero
