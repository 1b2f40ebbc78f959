#include "opencl/queues.h"

#include <cstdlib>
#include <cstring>

#include "base/atomics.h"
#include "base/handle_table.h"
#include "opencl/devices.h"
#include "runtime/module_scan.h"
#include "runtime/recording.h"

namespace gpuprof::injection::opencl {
namespace {

constexpr size_t kMaxProperties = 64;  // maximum length of a property list, including the final zero

struct Node {
  const void* handle;
  Node* next;
  uint32_t references;  // number of references that the user holds
  Queue queue;
};

constinit HandleTable<Node, 256> nodes;
uint32_t lock = 0;
uint64_t last_number = 0;

// Increases when a handle may have become the handle of another queue. A thread's cached queue is valid for one
// generation.
uint64_t generation = 1;

struct Remembered {
  uint64_t generation;
  cl_command_queue handle;
  Queue queue;
};
constinit thread_local Remembered remembered = {};

Queue add_queue(cl_command_queue handle, cl_device_id device, Rewrite rewrite) {
  const Queue queue = {add_relaxed(&last_number, uint64_t{1}) + 1, device_index(device), rewrite};
  if (!try_lock_bounded(&lock)) {
    return queue;
  }
  Node* node = nodes.find(handle);
  node = node != nullptr ? node : nodes.add(handle);
  if (node != nullptr) {
    node->references = 1;
    node->queue = queue;
  }
  unlock(&lock);
  add_relaxed(&generation, uint64_t{1});
  return queue;
}

// Changes the number of references. Called before the driver's release, because afterwards another queue may have the
// handle.
void change_references(cl_command_queue handle, bool retain) {
  if (!try_lock_bounded(&lock)) {
    return;
  }
  if (Node* node = nodes.find(handle); node != nullptr) {
    node->references += retain ? 1 : -1U;
    if (node->references == 0) {
      free(nodes.take(handle));
      add_relaxed(&generation, uint64_t{1});
    }
  }
  unlock(&lock);
}

// Creates a queue with profiling by `create`. If that fails, or if `rewrite` is Rewrite::none, calls
// `create_plain`, which passes the user's properties.
template <typename Create, typename CreatePlain>
cl_command_queue create_timed(cl_device_id device, Rewrite rewrite, Create create, CreatePlain create_plain) {
  cl_command_queue queue = rewrite == Rewrite::none ? nullptr : create();
  if (queue == nullptr) {
    queue = create_plain();
    rewrite = Rewrite::none;
  }
  if (queue != nullptr) {
    add_queue(queue, device, rewrite);
    scan_modules();  // done here, because OpenCL has no service thread
    exit_first_on_main_thread();
  }
  return queue;
}

cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                          cl_command_queue_properties properties, cl_int* status) {
  const auto create = [&](cl_command_queue_properties with) {
    return target.clCreateCommandQueue(context, device, with, status);
  };
  return create_timed(
      device, (properties & CL_QUEUE_PROFILING_ENABLE) == 0 ? Rewrite::bit : Rewrite::none,
      [&] { return create(properties | CL_QUEUE_PROFILING_ENABLE); }, [&] { return create(properties); });
}

// Copies the user's list to `to` and enables profiling in the copy. Returns Rewrite::none if the user's list must be
// used. This is the case if profiling is already enabled, the queue is on the device, or the list is too long.
Rewrite add_profiling(const cl_queue_properties* from, cl_queue_properties (&to)[kMaxProperties + 2]) {
  size_t count = 0;
  size_t properties_at = kMaxProperties;
  for (; from != nullptr && from[count] != 0; count += 2) {
    if (count + 2 >= kMaxProperties) {
      return Rewrite::none;
    }
    if (from[count] == CL_QUEUE_PROPERTIES) {
      properties_at = count + 1;
    }
  }
  const bool found = properties_at != kMaxProperties;
  constexpr cl_queue_properties kLeaveAlone = CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_ON_DEVICE;
  if (found && (from[properties_at] & kLeaveAlone) != 0) {
    return Rewrite::none;
  }
  const size_t offset = found ? 0 : 2;
  if (count > 0) {
    memcpy(to + offset, from, count * sizeof(*from));
  }
  to[offset + count] = 0;
  if (found) {
    to[properties_at] |= CL_QUEUE_PROFILING_ENABLE;
    return Rewrite::bit;
  }
  to[0] = CL_QUEUE_PROPERTIES;
  to[1] = CL_QUEUE_PROFILING_ENABLE;
  return from == nullptr ? Rewrite::created : Rewrite::prepended;
}

cl_command_queue CL_API_CALL create_queue_with_properties(cl_context context, cl_device_id device,
                                                          const cl_queue_properties* properties, cl_int* status) {
  cl_queue_properties changed[kMaxProperties + 2];
  const auto create = [&](const cl_queue_properties* with) {
    return target.clCreateCommandQueueWithProperties(context, device, with, status);
  };
  return create_timed(
      device, add_profiling(properties, changed), [&] { return create(changed); }, [&] { return create(properties); });
}

cl_int CL_API_CALL retain_queue(cl_command_queue queue) {
  const cl_int status = target.clRetainCommandQueue(queue);
  if (status == CL_SUCCESS) {
    change_references(queue, true);
  }
  return status;
}

cl_int CL_API_CALL release_queue(cl_command_queue queue) {
  change_references(queue, false);
  return target.clReleaseCommandQueue(queue);
}

cl_int get_array(cl_command_queue queue, Rewrite rewrite, size_t capacity, void* value, size_t* bytes_ret) {
  cl_queue_properties list[kMaxProperties + 2] = {};
  size_t bytes = 0;
  const cl_int status = target.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof(list), list, &bytes);
  if (status != CL_SUCCESS) {
    return status;
  }
  const cl_queue_properties* first = list;
  if (rewrite == Rewrite::created) {
    bytes = 0;
  } else if (rewrite == Rewrite::prepended && bytes > 2 * sizeof(*list)) {
    first += 2;
    bytes -= 2 * sizeof(*list);
  } else {
    for (size_t i = 0; (i + 1) * sizeof(*list) < bytes && list[i] != 0; i += 2) {
      if (list[i] == CL_QUEUE_PROPERTIES) {
        list[i + 1] &= ~static_cast<cl_queue_properties>(CL_QUEUE_PROFILING_ENABLE);
      }
    }
  }
  return answer(first, bytes, capacity, value, bytes_ret);
}

// Returns false if the queue was not created through the layer or the user has released it.
bool find_queue(cl_command_queue handle, Queue* queue) {
  const uint64_t now = load_acquire(&generation);
  if (remembered.generation == now && remembered.handle == handle) {
    *queue = remembered.queue;
    return true;
  }
  if (!try_lock_bounded(&lock)) {
    return false;
  }
  const Node* node = nodes.find(handle);
  const bool found = node != nullptr;
  if (found) {
    *queue = node->queue;
    remembered = {now, handle, *queue};
  }
  unlock(&lock);
  return found;
}

cl_int CL_API_CALL get_queue_info(cl_command_queue handle, cl_command_queue_info name, size_t capacity, void* value,
                                  size_t* bytes_ret) {
  Queue queue = {};
  if ((name != CL_QUEUE_PROPERTIES && name != CL_QUEUE_PROPERTIES_ARRAY) || !find_queue(handle, &queue) ||
      queue.rewrite == Rewrite::none) {
    return target.clGetCommandQueueInfo(handle, name, capacity, value, bytes_ret);
  }
  if (name == CL_QUEUE_PROPERTIES_ARRAY) {
    return get_array(handle, queue.rewrite, capacity, value, bytes_ret);
  }
  const cl_int status = target.clGetCommandQueueInfo(handle, name, capacity, value, bytes_ret);
  if (status == CL_SUCCESS && value != nullptr && capacity >= sizeof(cl_command_queue_properties)) {
    cl_command_queue_properties properties = 0;
    memcpy(&properties, value, sizeof(properties));
    properties &= ~static_cast<cl_command_queue_properties>(CL_QUEUE_PROFILING_ENABLE);
    memcpy(value, &properties, sizeof(properties));
  }
  return status;
}

// Hides the times of commands if the user did not request profiling for the queue.
cl_int CL_API_CALL get_event_profiling_info(cl_event event, cl_profiling_info name, size_t capacity, void* value,
                                            size_t* bytes_ret) {
  cl_command_queue handle = nullptr;
  Queue queue = {};
  constexpr size_t kHandleBytes = sizeof(void*);
  if (target.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, kHandleBytes, static_cast<void*>(&handle), nullptr) ==
          CL_SUCCESS &&
      handle != nullptr && find_queue(handle, &queue) && queue.rewrite != Rewrite::none) {
    return CL_PROFILING_INFO_NOT_AVAILABLE;
  }
  return target.clGetEventProfilingInfo(event, name, capacity, value, bytes_ret);
}

}  // namespace

bool find_or_add_queue(cl_command_queue handle, Queue* queue) {
  if (find_queue(handle, queue)) {
    return true;
  }
  cl_device_id device = nullptr;
  constexpr size_t kHandleBytes = sizeof(void*);
  if (handle == nullptr || target.clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, kHandleBytes,
                                                        static_cast<void*>(&device), nullptr) != CL_SUCCESS) {
    return false;
  }
  *queue = add_queue(handle, device, Rewrite::none);
  return true;
}

void hook_queues(cl_icd_dispatch& table) {
  GPUPROF_HOOK(table, clCreateCommandQueue, create_queue);
  GPUPROF_HOOK(table, clCreateCommandQueueWithProperties, create_queue_with_properties);
  GPUPROF_HOOK(table, clRetainCommandQueue, retain_queue);
  GPUPROF_HOOK(table, clReleaseCommandQueue, release_queue);
  GPUPROF_HOOK(table, clGetCommandQueueInfo, get_queue_info);
  GPUPROF_HOOK(table, clGetEventProfilingInfo, get_event_profiling_info);
}

}  // namespace gpuprof::injection::opencl
