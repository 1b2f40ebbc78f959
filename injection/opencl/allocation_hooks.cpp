// Hooks allocations and frees of device memory: memory objects and shared virtual memory. The driver frees an object
// when it no longer needs it after the last release, and then calls a destructor callback. The free has the stack of
// the call that released the user's last reference. At the end of the process, objects without references count as
// freed, even if a driver thread still uses them.
//
// Sub-buffers, and images made from other objects, allocate nothing. Buffers in user memory (CL_MEM_USE_HOST_PTR)
// are reported, too: a driver with device memory copies them, and a program cannot ask a driver whether it does.
#include <cstdlib>

#include "base/keep_errno.h"
#include "base/thread_state.h"
#include "ipc/emit.h"
#include "opencl/allocation_table.h"
#include "opencl/devices.h"
#include "opencl/dispatch.h"
#include "opencl/enqueue.h"
#include "opencl/extensions.h"
#include "runtime/launch.h"
#include "runtime/lifecycle.h"
#include "runtime/work.h"

namespace gpuprof::injection::opencl {
namespace {

// Returns the context's device, or UINT32_MAX if the context has several.
uint32_t device_of(cl_context context) {
  cl_device_id device = nullptr;
  size_t bytes = 0;
  if (target.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(void*), static_cast<void*>(&device), &bytes) !=
          CL_SUCCESS ||
      bytes != sizeof(void*)) {
    return UINT32_MAX;
  }
  return device_index(device);
}

uint64_t bytes_of(cl_mem object) {
  size_t bytes = 0;
  return target.clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof(bytes), &bytes, nullptr) == CL_SUCCESS ? bytes : 0;
}

// `tid`: thread of the call whose stack is recorded.
void emit_memory(gpuprof_host_op_kind kind, const Memory& memory, const char* function, uint64_t correlation,
                 uint32_t tid) {
  if (memory.device != UINT32_MAX) {
    announce_device(memory.device);
  }
  host_event({kind, function, memory.bytes, memory.device}, correlation, tid);
}

// Takes the call's stack if `stack` is 0. Else, `stack` is its id. Returns the id.
uint64_t emit_here(gpuprof_host_op_kind kind, const Memory& memory, const char* function, uint64_t stack) {
  stack = stack == 0 ? stack_of_host_call() : stack;
  emit_memory(kind, memory, function, stack, thread_id());
  return stack;
}

void emit_destroyed(const Memory& memory) {
  emit_memory(GPUPROF_HOST_FREE, memory, "clReleaseMemObject", memory.released, memory.tid);
}

// May run on a driver thread, or inside the call with which the user releases the last reference.
void CL_CALLBACK on_destroy(cl_mem object, void* /*user*/) {
  const KeepErrno keep_errno;
  Memory* memory = take_memory(object);
  if (memory != nullptr && active()) {
    emit_destroyed(*memory);
  }
  free(memory);
}

// Tracks the memory also while recording is off, because it may be freed after recording was switched on.
void allocated(const char* function, const Memory& memory, uint64_t stack) {
  if (recording()) {
    emit_here(GPUPROF_HOST_ALLOC, memory, function, stack);
  }
  add_memory(memory);
}

// Reports `object`, which a driver call has created, and returns it. Null: the call failed.
cl_mem created(const char* function, cl_mem object, cl_context context, cl_int status, uint64_t stack) {
  if (object == nullptr) {
    call_rejected(function, status);
    return object;
  }
  const KeepErrno keep_errno;
  const bool tells = target.clSetMemObjectDestructorCallback != nullptr &&
                     target.clSetMemObjectDestructorCallback(object, on_destroy, nullptr) == CL_SUCCESS;
  allocated(function, {object, bytes_of(object), 0, device_of(context), 0, 1, tells, nullptr}, stack);
  return object;
}

// Returns false for an image made from another memory object, because it allocates nothing.
inline bool allocates(const cl_image_desc* image) {
  return image == nullptr || image->mem_object == nullptr;
}
template <typename Parameter>
constexpr bool allocates(Parameter /*parameter*/) {
  return true;
}

constexpr const cl_int* last(const cl_int* status) {
  return status;
}
template <typename First, typename... Rest>
requires(sizeof...(Rest) > 0) constexpr const cl_int* last(First /*first*/, Rest... rest) {
  return last(rest...);
}

template <auto Entry, const char* Function, typename Type>
struct Create;
template <auto Entry, const char* Function, typename... Parameters>
struct Create<Entry, Function, cl_mem (CL_API_CALL* cl_icd_dispatch::*)(cl_context, Parameters...)> {
  static cl_mem CL_API_CALL hook(cl_context context, Parameters... parameters) {
    HostCall call;
    cl_mem object = (target.*Entry)(context, parameters...);
    const uint64_t stack = call.end(Function, true);
    const cl_int* status = last(parameters...);
    return (allocates(parameters) && ...) ? created(Function, object, context, status == nullptr ? 0 : *status, stack)
                                          : object;
  }
};

#define GPUPROF_HOOK_CREATE(table, entry)                                                       \
  do {                                                                                          \
    static constexpr char kFunction[] = #entry;                                                 \
    using Hook = Create<&cl_icd_dispatch::entry, kFunction, decltype(&cl_icd_dispatch::entry)>; \
    GPUPROF_HOOK(table, entry, Hook::hook);                                                     \
  } while (false)

cl_int CL_API_CALL retain_object(cl_mem object) {
  const cl_int status = target.clRetainMemObject(object);
  if (status == CL_SUCCESS) {
    const KeepErrno keep_errno;
    retain_memory(object);
  }
  return status;
}

// Called before the driver's release, because afterwards another object may have the handle.
// Returns the id of the call's stack; 0: none was taken.
uint64_t let_go(cl_mem object) {
  const KeepErrno keep_errno;
  const Reference reference = release_memory(object);
  uint64_t stack = 0;
  if (reference == Reference::last && recording()) {
    stack = stack_of_host_call();
    set_released(object, stack, thread_id());
  } else if (reference == Reference::last_silent) {
    Memory* memory = take_memory(object);
    if (memory != nullptr && recording()) {
      stack = emit_here(GPUPROF_HOST_FREE, *memory, "clReleaseMemObject", 0);
    }
    free(memory);
  }
  return stack;
}

cl_int CL_API_CALL release_object(cl_mem object) {
  const uint64_t stack = let_go(object);
  HostCall call;
  const cl_int status = target.clReleaseMemObject(object);
  call.end("clReleaseMemObject", false, stack);
  return status;
}

void* CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t bytes, cl_uint alignment) {
  HostCall call;
  void* memory = target.clSVMAlloc(context, flags, bytes, alignment);
  const uint64_t stack = call.end("clSVMAlloc", true);
  if (memory != nullptr) {
    const KeepErrno keep_errno;
    allocated("clSVMAlloc", {memory, bytes, 0, device_of(context), 0, 1, false, nullptr}, stack);
  } else {
    call_rejected("clSVMAlloc", CL_SUCCESS);  // the function returns no code
  }
  return memory;
}

void CL_API_CALL svm_free(cl_context context, void* pointer) {
  uint64_t stack = 0;
  if (pointer != nullptr) {
    const KeepErrno keep_errno;
    Memory* memory = take_memory(pointer);
    if (memory != nullptr && recording()) {
      stack = emit_here(GPUPROF_HOST_FREE, *memory, "clSVMFree", 0);
    }
    free(memory);
  }
  HostCall call;
  target.clSVMFree(context, pointer);
  call.end("clSVMFree", true, stack);
}

// Removes the entries of these pointers and returns them as a list. Called before the free, because afterwards another
// thread may allocate the same addresses.
Memory* take_all(cl_uint count, void* const* pointers) {
  Memory* all = nullptr;
  for (cl_uint i = 0; pointers != nullptr && i < count; ++i) {
    Memory* memory = pointers[i] == nullptr ? nullptr : take_memory(pointers[i]);
    if (memory != nullptr) {
      memory->next = all;
      all = memory;
    }
  }
  return all;
}

void end_free(Memory* all, bool freed, const char* function, uint64_t stack) {
  const bool told = freed && recording();
  while (all != nullptr) {
    Memory* memory = all;
    all = memory->next;
    if (!freed) {
      put_back(memory);
      continue;
    }
    if (told) {
      stack = emit_here(GPUPROF_HOST_FREE, *memory, function, stack);
    }
    free(memory);
  }
}

// With a user function, the call itself frees nothing: the user function frees the memory by clSVMFree.
cl_int CL_API_CALL enqueue_svm_free(cl_command_queue queue, cl_uint count, void** pointers,
                                    void(CL_CALLBACK* function)(cl_command_queue, cl_uint, void**, void*), void* data,
                                    cl_uint waits, const cl_event* wait_list, cl_event* event) {
  Memory* all = nullptr;
  if (function == nullptr) {
    const KeepErrno keep_errno;
    all = take_all(count, pointers);
  }
  const cl_int status = target.clEnqueueSVMFree(queue, count, pointers, function, data, waits, wait_list, event);
  const KeepErrno keep_errno;
  end_free(all, status == CL_SUCCESS, "clEnqueueSVMFree", 0);
  return status;
}

// Unified memory of cl_intel_unified_shared_memory.
constinit clHostMemAllocINTEL_fn host_alloc = nullptr;
constinit clDeviceMemAllocINTEL_fn device_alloc = nullptr;
constinit clSharedMemAllocINTEL_fn shared_alloc = nullptr;
constinit clMemFreeINTEL_fn unified_free = nullptr;
constinit clMemBlockingFreeINTEL_fn unified_blocking_free = nullptr;

constexpr char kHostAlloc[] = "clHostMemAllocINTEL";
constexpr char kDeviceAlloc[] = "clDeviceMemAllocINTEL";
constexpr char kSharedAlloc[] = "clSharedMemAllocINTEL";
constexpr char kUnifiedFree[] = "clMemFreeINTEL";
constexpr char kUnifiedBlockingFree[] = "clMemBlockingFreeINTEL";

void* unified_allocated(const char* function, void* memory, size_t bytes, uint32_t device, uint64_t stack) {
  if (memory != nullptr) {
    allocated(function, {memory, bytes, 0, device, 0, 1, false, nullptr}, stack);
  }
  return memory;
}

void* CL_API_CALL allocate_on_host(cl_context context, const cl_mem_properties_intel* properties, size_t bytes,
                                   cl_uint alignment, cl_int* status) {
  HostCall call;
  void* memory = host_alloc(context, properties, bytes, alignment, status);
  const uint64_t stack = call.end(kHostAlloc, true);
  const KeepErrno keep_errno;
  return unified_allocated(kHostAlloc, memory, bytes, UINT32_MAX, stack);
}

template <const char* Function, clDeviceMemAllocINTEL_fn* Driver>
void* CL_API_CALL allocate_on_device(cl_context context, cl_device_id device, const cl_mem_properties_intel* properties,
                                     size_t bytes, cl_uint alignment, cl_int* status) {
  HostCall call;
  void* memory = (*Driver)(context, device, properties, bytes, alignment, status);
  const uint64_t stack = call.end(Function, true);
  const KeepErrno keep_errno;
  return unified_allocated(Function, memory, bytes, device == nullptr ? UINT32_MAX : device_index(device), stack);
}

template <const char* Function, clMemFreeINTEL_fn* Driver>
cl_int CL_API_CALL free_unified(cl_context context, void* pointer) {
  Memory* memory = nullptr;
  {
    const KeepErrno keep_errno;
    memory = take_all(1, &pointer);
  }
  HostCall call;
  const cl_int status = (*Driver)(context, pointer);
  const uint64_t stack = call.end(Function, true);
  const KeepErrno keep_errno;
  end_free(memory, status == CL_SUCCESS, Function, stack);
  return status;
}

}  // namespace

void report_released_memory() {
  if (active()) {
    for_each_released(emit_destroyed);
  }
}

Extension memory_extension(const char* function) {
  return find_extension(function,
                        {extension(kHostAlloc, allocate_on_host, &host_alloc),
                         extension(kDeviceAlloc, allocate_on_device<kDeviceAlloc, &device_alloc>, &device_alloc),
                         extension(kSharedAlloc, allocate_on_device<kSharedAlloc, &shared_alloc>, &shared_alloc),
                         extension(kUnifiedFree, free_unified<kUnifiedFree, &unified_free>, &unified_free),
                         extension(kUnifiedBlockingFree, free_unified<kUnifiedBlockingFree, &unified_blocking_free>,
                                   &unified_blocking_free)});
}

void hook_memory(cl_icd_dispatch& table) {
  GPUPROF_HOOK_CREATE(table, clCreateBuffer);
  GPUPROF_HOOK_CREATE(table, clCreateBufferWithProperties);
  GPUPROF_HOOK_CREATE(table, clCreateImage);
  GPUPROF_HOOK_CREATE(table, clCreateImageWithProperties);
  GPUPROF_HOOK_CREATE(table, clCreateImage2D);
  GPUPROF_HOOK_CREATE(table, clCreateImage3D);
  GPUPROF_HOOK_CREATE(table, clCreatePipe);
  GPUPROF_HOOK(table, clRetainMemObject, retain_object);
  GPUPROF_HOOK(table, clReleaseMemObject, release_object);
  GPUPROF_HOOK(table, clSVMAlloc, svm_alloc);
  GPUPROF_HOOK(table, clSVMFree, svm_free);
  GPUPROF_HOOK(table, clEnqueueSVMFree, enqueue_svm_free);
}

}  // namespace gpuprof::injection::opencl
