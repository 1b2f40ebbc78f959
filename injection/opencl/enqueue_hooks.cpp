// Hooks the commands that put work on a device. Each hook calls the launch probe and then the driver. It requests a
// callback on the command's event, which is the user's or the library's. If the driver refuses a command, the launch
// counts as failed, because the probe has been called. Mapping and unmapping count as copies, because they copy if the
// device has its own memory. Markers, barriers and migrations are not work.
#include <type_traits>

#include "base/atomics.h"
#include "opencl/dispatch.h"
#include "opencl/enqueue.h"
#include "opencl/extensions.h"

namespace gpuprof::injection::opencl {
namespace {

// Replaces the event among the parameters of an enqueue function: the only parameter of this type.
inline cl_event* replaced(cl_event* /*event*/, cl_event* to) {
  return to;
}
template <typename Parameter>
Parameter replaced(Parameter parameter, cl_event* /*to*/) {
  return parameter;
}

inline cl_event* event_of(cl_event* event) {
  return event;
}
template <typename First, typename... Rest>
cl_event* event_of(First /*first*/, Rest... rest) {
  return event_of(rest...);
}

// Returns the driver's function. `Entry` is a member of the dispatch table, or the address of an extension's function
// pointer.
template <auto Entry>
auto driver() {
  if constexpr (std::is_member_object_pointer_v<decltype(Entry)>) {
    return target.*Entry;
  } else {
    return *Entry;
  }
}

// A hook for an enqueue function. `Describe` makes a Command from the parameters that follow the queue.
template <auto Entry, typename Describe, typename Function>
struct Enqueue;
template <auto Entry, typename Describe, typename... Parameters>
struct Enqueue<Entry, Describe, cl_int(CL_API_CALL*)(cl_command_queue, Parameters...)> {
  static cl_int CL_API_CALL hook(cl_command_queue queue, Parameters... parameters) {
    return traced(queue, Describe{}(parameters...), event_of(parameters...),
                  [&](cl_event* to) { return driver<Entry>()(queue, replaced(parameters, to)...); });
  }
};

template <auto Entry, typename Describe>
void hook(cl_icd_dispatch& table, Describe /*describe*/) {
  if (table.*Entry != nullptr) {
    table.*Entry = Enqueue<Entry, Describe, decltype(driver<Entry>())>::hook;
  }
}

template <auto Driver, typename Describe>
Extension extension_hook(const char* function, Describe /*describe*/) {
  return extension(function, Enqueue<Driver, Describe, decltype(driver<Driver>())>::hook, Driver);
}

constinit clEnqueueMemcpyINTEL_fn memcpy_intel = nullptr;
constinit clEnqueueMemcpyINTEL_fn memcpy_arm = nullptr;
constinit clEnqueueMemFillINTEL_fn fill_intel = nullptr;
constinit clEnqueueMemFillINTEL_fn fill_arm = nullptr;

// Memory that is mapped for writing. If more is mapped than fits here, the bytes of the oldest mapping are not known
// when it is unmapped.
struct Mapping {
  cl_mem memory;
  const void* at;
  uint64_t bytes;
};
constexpr size_t kMappings = 256;
Mapping mappings[kMappings];
size_t next_mapping = 0;
uint32_t mappings_lock = 0;

// With CL_MAP_WRITE_INVALIDATE_REGION the program does not want the old contents.
uint64_t bytes_to_host(cl_map_flags flags, uint64_t bytes) {
  return (flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0 ? 0 : bytes;
}

void note_mapped(cl_mem memory, const void* at, cl_map_flags flags, uint64_t bytes) {
  if (at != nullptr && (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) != 0 &&
      try_lock_bounded(&mappings_lock)) {
    mappings[next_mapping++ % kMappings] = {memory, at, bytes};
    unlock(&mappings_lock);
  }
}

// Returns how many bytes unmapping copies to the device, and forgets the mapping.
uint64_t take_mapped(cl_mem memory, const void* at) {
  uint64_t bytes = 0;
  if (try_lock_bounded(&mappings_lock)) {
    for (Mapping& mapping : mappings) {
      if (mapping.at == at && mapping.memory == memory) {
        bytes = mapping.bytes;
        mapping = {};
        break;
      }
    }
    unlock(&mappings_lock);
  }
  return bytes;
}

// Map functions return the mapped memory. They return their status through a pointer, the parameter after the event.
void* CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
                             size_t bytes, cl_uint waits, const cl_event* wait_list, cl_event* event,
                             cl_int* status_ret) {
  void* mapped = nullptr;
  const Command command = {"clEnqueueMapBuffer", GPUPROF_OP_COPY_DTOH, bytes_to_host(flags, bytes),
                           blocking != CL_FALSE};
  const cl_int status = traced(queue, command, event, [&](cl_event* to) {
    cl_int result = CL_SUCCESS;
    mapped = target.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, bytes, waits, wait_list, to, &result);
    return result;
  });
  note_mapped(buffer, mapped, flags, bytes);
  if (status_ret != nullptr) {
    *status_ret = status;
  }
  return mapped;
}

void* CL_API_CALL map_image(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                            const size_t* origin, const size_t* region, size_t* row, size_t* slice, cl_uint waits,
                            const cl_event* wait_list, cl_event* event, cl_int* status_ret) {
  void* mapped = nullptr;
  const uint64_t bytes = image_bytes(image, region);
  const Command command = {"clEnqueueMapImage", GPUPROF_OP_COPY_DTOH, bytes_to_host(flags, bytes),
                           blocking != CL_FALSE};
  const cl_int status = traced(queue, command, event, [&](cl_event* to) {
    cl_int result = CL_SUCCESS;
    mapped = target.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice, waits, wait_list, to,
                                      &result);
    return result;
  });
  note_mapped(image, mapped, flags, bytes);
  if (status_ret != nullptr) {
    *status_ret = status;
  }
  return mapped;
}

using Table = cl_icd_dispatch;

void hook_kernels(Table& table) {
  hook<&Table::clEnqueueNDRangeKernel>(table, [](cl_kernel kernel, auto...) -> Command {
    return {"clEnqueueNDRangeKernel", GPUPROF_OP_KERNEL, 0, false, kernel};
  });
  hook<&Table::clEnqueueTask>(table, [](cl_kernel kernel, auto...) -> Command {
    return {"clEnqueueTask", GPUPROF_OP_KERNEL, 0, false, kernel};
  });
  hook<&Table::clEnqueueNativeKernel>(table, [](auto...) -> Command {
    return {"clEnqueueNativeKernel", GPUPROF_OP_OTHER};
  });
}

void hook_buffers(Table& table) {
  hook<&Table::clEnqueueReadBuffer>(table, [](cl_mem, cl_bool blocking, size_t, size_t bytes, auto...) -> Command {
    return {"clEnqueueReadBuffer", GPUPROF_OP_COPY_DTOH, bytes, blocking != CL_FALSE};
  });
  hook<&Table::clEnqueueWriteBuffer>(table, [](cl_mem, cl_bool blocking, size_t, size_t bytes, auto...) -> Command {
    return {"clEnqueueWriteBuffer", GPUPROF_OP_COPY_HTOD, bytes, blocking != CL_FALSE};
  });
  hook<&Table::clEnqueueReadBufferRect>(
      table, [](cl_mem, cl_bool blocking, const size_t*, const size_t*, const size_t* region, auto...) -> Command {
        return {"clEnqueueReadBufferRect", GPUPROF_OP_COPY_DTOH, volume(region), blocking != CL_FALSE};
      });
  hook<&Table::clEnqueueWriteBufferRect>(
      table, [](cl_mem, cl_bool blocking, const size_t*, const size_t*, const size_t* region, auto...) -> Command {
        return {"clEnqueueWriteBufferRect", GPUPROF_OP_COPY_HTOD, volume(region), blocking != CL_FALSE};
      });
  hook<&Table::clEnqueueCopyBuffer>(table, [](cl_mem, cl_mem, size_t, size_t, size_t bytes, auto...) -> Command {
    return {"clEnqueueCopyBuffer", GPUPROF_OP_COPY_DTOD, bytes};
  });
  hook<&Table::clEnqueueCopyBufferRect>(
      table, [](cl_mem, cl_mem, const size_t*, const size_t*, const size_t* region, auto...) -> Command {
        return {"clEnqueueCopyBufferRect", GPUPROF_OP_COPY_DTOD, volume(region)};
      });
  hook<&Table::clEnqueueFillBuffer>(table, [](cl_mem, const void*, size_t, size_t, size_t bytes, auto...) -> Command {
    return {"clEnqueueFillBuffer", GPUPROF_OP_FILL, bytes};
  });
  hook<&Table::clEnqueueUnmapMemObject>(table, [](cl_mem memory, void* at, auto...) -> Command {
    return {"clEnqueueUnmapMemObject", GPUPROF_OP_COPY_HTOD, take_mapped(memory, at)};
  });
  hook<&Table::clEnqueueSVMMemcpy>(table, [](cl_bool blocking, void*, const void*, size_t bytes, auto...) -> Command {
    return {"clEnqueueSVMMemcpy", GPUPROF_OP_COPY, bytes, blocking != CL_FALSE};
  });
  hook<&Table::clEnqueueSVMMemFill>(table, [](void*, const void*, size_t, size_t bytes, auto...) -> Command {
    return {"clEnqueueSVMMemFill", GPUPROF_OP_FILL, bytes};
  });
}

void hook_images(Table& table) {
  hook<&Table::clEnqueueFillImage>(
      table, [](cl_mem image, const void*, const size_t*, const size_t* region, auto...) -> Command {
        return {"clEnqueueFillImage", GPUPROF_OP_FILL, image_bytes(image, region)};
      });
  hook<&Table::clEnqueueReadImage>(
      table, [](cl_mem image, cl_bool blocking, const size_t*, const size_t* region, auto...) -> Command {
        return {"clEnqueueReadImage", GPUPROF_OP_COPY_DTOH, image_bytes(image, region), blocking != CL_FALSE};
      });
  hook<&Table::clEnqueueWriteImage>(
      table, [](cl_mem image, cl_bool blocking, const size_t*, const size_t* region, auto...) -> Command {
        return {"clEnqueueWriteImage", GPUPROF_OP_COPY_HTOD, image_bytes(image, region), blocking != CL_FALSE};
      });
  hook<&Table::clEnqueueCopyImage>(
      table, [](cl_mem from, cl_mem, const size_t*, const size_t*, const size_t* region, auto...) -> Command {
        return {"clEnqueueCopyImage", GPUPROF_OP_COPY_DTOD, image_bytes(from, region)};
      });
  hook<&Table::clEnqueueCopyImageToBuffer>(
      table, [](cl_mem image, cl_mem, const size_t*, const size_t* region, auto...) -> Command {
        return {"clEnqueueCopyImageToBuffer", GPUPROF_OP_COPY_DTOD, image_bytes(image, region)};
      });
  hook<&Table::clEnqueueCopyBufferToImage>(
      table, [](cl_mem, cl_mem image, size_t, const size_t*, const size_t* region, auto...) -> Command {
        return {"clEnqueueCopyBufferToImage", GPUPROF_OP_COPY_DTOD, image_bytes(image, region)};
      });
}

}  // namespace

void hook_commands(cl_icd_dispatch& table) {
  if (table.clSetEventCallback == nullptr) {
    return;  // OpenCL 1.0 does not report completion
  }
  hook_kernels(table);
  hook_buffers(table);
  hook_images(table);
  GPUPROF_HOOK(table, clEnqueueMapBuffer, map_buffer);
  GPUPROF_HOOK(table, clEnqueueMapImage, map_image);
}

Extension copy_extension(const char* function) {
  const auto fill = [](void*, const void*, size_t, size_t bytes, auto...) -> Command {
    return {"clEnqueueMemFillINTEL", GPUPROF_OP_FILL, bytes};
  };
  const auto fill_svm = [](void*, const void*, size_t, size_t bytes, auto...) -> Command {
    return {"clEnqueueSVMMemFillARM", GPUPROF_OP_FILL, bytes};
  };
  const auto copy = [](cl_bool blocking, void*, const void*, size_t bytes, auto...) -> Command {
    return {"clEnqueueMemcpyINTEL", GPUPROF_OP_COPY, bytes, blocking != CL_FALSE};
  };
  const auto copy_svm = [](cl_bool blocking, void*, const void*, size_t bytes, auto...) -> Command {
    return {"clEnqueueSVMMemcpyARM", GPUPROF_OP_COPY, bytes, blocking != CL_FALSE};
  };
  return find_extension(function, {extension_hook<&memcpy_intel>("clEnqueueMemcpyINTEL", copy),
                                   extension_hook<&memcpy_arm>("clEnqueueSVMMemcpyARM", copy_svm),
                                   extension_hook<&fill_intel>("clEnqueueMemFillINTEL", fill),
                                   extension_hook<&fill_arm>("clEnqueueSVMMemFillARM", fill_svm)});
}

}  // namespace gpuprof::injection::opencl
