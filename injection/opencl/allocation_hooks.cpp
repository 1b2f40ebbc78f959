// Memory that the target allocates for devices, and gives back: memory objects and shared virtual memory.
//
// A memory object goes away when its last reference has gone and nothing of the driver's needs it any more: the driver
// tells us by the object's destructor callback. The free has the stack of the call that gave up the user's last
// reference, whichever thread runs the callback.
//
// Sub-buffers, and images that are made of another memory object, allocate nothing. A buffer in the user's own memory
// (CL_MEM_USE_HOST_PTR) counts: drivers with memory of their own have a copy there, and none says which way it took.
#include <cstdlib>

#include "base/keep_errno.h"
#include "base/monotonic_clock.h"
#include "base/thread_state.h"
#include "ipc/emit.h"
#include "opencl/allocation_table.h"
#include "opencl/devices.h"
#include "opencl/dispatch.h"
#include "opencl/host_calls.h"
#include "runtime/lifecycle.h"
#include "runtime/work.h"

namespace gpuprof::injection::opencl {
namespace {

// UINT32_MAX where the context has several.
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

// `tid`: of the call whose stack it has.
void emit_memory(gpuprof_host_op_kind kind, const Memory& memory, const char* function, uint64_t correlation,
                 uint32_t tid) {
  if (memory.device != UINT32_MAX) {
    announce_device(memory.device);
  }
  gpuprof_host_op op = {};
  op.correlation = correlation;
  op.start_ns = now_ns();
  op.end_ns = op.start_ns;
  op.bytes = memory.bytes;
  op.count = 1;
  op.name_id = name_id(function);
  op.device = memory.device;
  op.tid = tid;
  op.op = static_cast<uint16_t>(kind);
  host_op(op);
}

void emit_here(gpuprof_host_op_kind kind, const Memory& memory, const char* function) {
  const uint64_t correlation = take_host_stack();
  emit_memory(kind, memory, function, correlation, thread_id());
}

// May run on a thread of the driver's, or inside of the user's last release.
void CL_CALLBACK on_destroy(cl_mem object, void* /*user*/) {
  const KeepErrno keep_errno;
  Memory* memory = take_memory(object);
  if (memory != nullptr && active()) {
    emit_memory(GPUPROF_HOST_FREE, *memory, "clReleaseMemObject", memory->released, memory->tid);
  }
  free(memory);
}

// It is kept in mind while recording is off, too: it may be freed while recording is on.
void allocated(const char* function, const Memory& memory) {
  if (recording()) {
    emit_here(GPUPROF_HOST_ALLOC, memory, function);
  }
  add_memory(memory);
}

// Returns the object, which is null where the driver refused it.
cl_mem created(const char* function, cl_mem object, cl_context context) {
  if (object == nullptr) {
    return object;
  }
  const KeepErrno keep_errno;
  const bool tells = target.clSetMemObjectDestructorCallback != nullptr &&
                     target.clSetMemObjectDestructorCallback(object, on_destroy, nullptr) == CL_SUCCESS;
  allocated(function, {object, bytes_of(object), 0, device_of(context), 0, 1, tells, nullptr});
  return object;
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes, void* host, cl_int* status) {
  return created("clCreateBuffer", target.clCreateBuffer(context, flags, bytes, host, status), context);
}

cl_mem CL_API_CALL create_buffer_with_properties(cl_context context, const cl_mem_properties* properties,
                                                 cl_mem_flags flags, size_t bytes, void* host, cl_int* status) {
  return created("clCreateBufferWithProperties",
                 target.clCreateBufferWithProperties(context, properties, flags, bytes, host, status), context);
}

bool has_own_memory(const cl_image_desc* image) {
  return image == nullptr || image->mem_object == nullptr;
}

cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                const cl_image_desc* image, void* host, cl_int* status) {
  cl_mem object = target.clCreateImage(context, flags, format, image, host, status);
  return has_own_memory(image) ? created("clCreateImage", object, context) : object;
}

cl_mem CL_API_CALL create_image_with_properties(cl_context context, const cl_mem_properties* properties,
                                                cl_mem_flags flags, const cl_image_format* format,
                                                const cl_image_desc* image, void* host, cl_int* status) {
  cl_mem object = target.clCreateImageWithProperties(context, properties, flags, format, image, host, status);
  return has_own_memory(image) ? created("clCreateImageWithProperties", object, context) : object;
}

cl_mem CL_API_CALL create_image_2d(cl_context context, cl_mem_flags flags, const cl_image_format* format, size_t width,
                                   size_t height, size_t row, void* host, cl_int* status) {
  return created("clCreateImage2D", target.clCreateImage2D(context, flags, format, width, height, row, host, status),
                 context);
}

cl_mem CL_API_CALL create_image_3d(cl_context context, cl_mem_flags flags, const cl_image_format* format, size_t width,
                                   size_t height, size_t depth, size_t row, size_t slice, void* host, cl_int* status) {
  return created("clCreateImage3D",
                 target.clCreateImage3D(context, flags, format, width, height, depth, row, slice, host, status),
                 context);
}

cl_mem CL_API_CALL create_pipe(cl_context context, cl_mem_flags flags, cl_uint packet_bytes, cl_uint packets,
                               const cl_pipe_properties* properties, cl_int* status) {
  return created("clCreatePipe", target.clCreatePipe(context, flags, packet_bytes, packets, properties, status),
                 context);
}

cl_int CL_API_CALL retain_object(cl_mem object) {
  const cl_int status = target.clRetainMemObject(object);
  if (status == CL_SUCCESS) {
    const KeepErrno keep_errno;
    retain_memory(object);
  }
  return status;
}

// Before the call: afterwards the handle may already be another object's.
void let_go(cl_mem object) {
  const KeepErrno keep_errno;
  const Reference reference = release_memory(object);
  if (reference == Reference::last && recording()) {
    set_released(object, take_host_stack(), thread_id());
  } else if (reference == Reference::last_silent) {
    Memory* memory = take_memory(object);
    if (memory != nullptr && recording()) {
      emit_here(GPUPROF_HOST_FREE, *memory, "clReleaseMemObject");
    }
    free(memory);
  }
}

cl_int CL_API_CALL release_object(cl_mem object) {
  let_go(object);
  return target.clReleaseMemObject(object);
}

void* CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t bytes, cl_uint alignment) {
  void* memory = target.clSVMAlloc(context, flags, bytes, alignment);
  if (memory != nullptr) {
    const KeepErrno keep_errno;
    allocated("clSVMAlloc", {memory, bytes, 0, device_of(context), 0, 1, false, nullptr});
  }
  return memory;
}

void CL_API_CALL svm_free(cl_context context, void* pointer) {
  if (pointer != nullptr) {
    const KeepErrno keep_errno;
    Memory* memory = take_memory(pointer);
    if (memory != nullptr && recording()) {
      emit_here(GPUPROF_HOST_FREE, *memory, "clSVMFree");
    }
    free(memory);
  }
  target.clSVMFree(context, pointer);
}

// Those that the layer knows, as a list: afterwards other memory may lie there.
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

void end_svm_free(Memory* all, bool freed) {
  const bool told = freed && recording();
  while (all != nullptr) {
    Memory* memory = all;
    all = memory->next;
    if (!freed) {
      put_back(memory);
      continue;
    }
    if (told) {
      emit_here(GPUPROF_HOST_FREE, *memory, "clEnqueueSVMFree");
    }
    free(memory);
  }
}

// With a function of the user's nothing is freed but what that frees, by clSVMFree.
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
  end_svm_free(all, status == CL_SUCCESS);
  return status;
}

}  // namespace

void hook_memory(cl_icd_dispatch& table) {
  GPUPROF_HOOK(table, clCreateBuffer, create_buffer);
  GPUPROF_HOOK(table, clCreateBufferWithProperties, create_buffer_with_properties);
  GPUPROF_HOOK(table, clCreateImage, create_image);
  GPUPROF_HOOK(table, clCreateImageWithProperties, create_image_with_properties);
  GPUPROF_HOOK(table, clCreateImage2D, create_image_2d);
  GPUPROF_HOOK(table, clCreateImage3D, create_image_3d);
  GPUPROF_HOOK(table, clCreatePipe, create_pipe);
  GPUPROF_HOOK(table, clRetainMemObject, retain_object);
  GPUPROF_HOOK(table, clReleaseMemObject, release_object);
  GPUPROF_HOOK(table, clSVMAlloc, svm_alloc);
  GPUPROF_HOOK(table, clSVMFree, svm_free);
  GPUPROF_HOOK(table, clEnqueueSVMFree, enqueue_svm_free);
}

}  // namespace gpuprof::injection::opencl
