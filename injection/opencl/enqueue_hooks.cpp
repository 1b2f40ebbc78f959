// The commands that put work on a device. Each hook calls the launch probe on the calling thread, then the driver,
// and asks for a callback on the command's event: the user's, or one of ours where the user wants none.
//
// A command that the driver refuses has called the probe, and is counted as failed. Mapping and unmapping count as
// copies, since on a device with its own memory they are. Markers, barriers and migrations are left out: they are no
// work.
#include "opencl/dispatch.h"
#include "opencl/enqueue.h"

namespace gpuprof::injection::opencl {
namespace {

uint64_t volume(const size_t* region) {
  return region == nullptr ? 0 : uint64_t{region[0]} * region[1] * region[2];
}

uint64_t image_bytes(cl_mem image, const size_t* region) {
  size_t element = 0;
  if (target.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(element), &element, nullptr) != CL_SUCCESS) {
    return 0;
  }
  return volume(region) * element;
}

#define GPUPROF_WAIT_PARAMETERS cl_uint waits, const cl_event *wait_list, cl_event *event

cl_int CL_API_CALL ndrange_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                                  const size_t* global, const size_t* local, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueNDRangeKernel", GPUPROF_OP_KERNEL, 0, false, kernel};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, waits, wait_list, to);
  });
}

cl_int CL_API_CALL task(cl_command_queue queue, cl_kernel kernel, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueTask", GPUPROF_OP_KERNEL, 0, false, kernel};
  return traced(queue, command, event,
                [&](cl_event* to) { return target.clEnqueueTask(queue, kernel, waits, wait_list, to); });
}

cl_int CL_API_CALL native_kernel(cl_command_queue queue, void(CL_CALLBACK* function)(void*), void* args,
                                 size_t args_bytes, cl_uint mem_count, const cl_mem* mems, const void** mem_places,
                                 GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueNativeKernel", GPUPROF_OP_OTHER};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueNativeKernel(queue, function, args, args_bytes, mem_count, mems, mem_places, waits,
                                        wait_list, to);
  });
}

cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,
                               void* to_host, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueReadBuffer", GPUPROF_OP_COPY_DTOH, bytes, blocking != CL_FALSE};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueReadBuffer(queue, buffer, blocking, offset, bytes, to_host, waits, wait_list, to);
  });
}

cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,
                                const void* from_host, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueWriteBuffer", GPUPROF_OP_COPY_HTOD, bytes, blocking != CL_FALSE};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueWriteBuffer(queue, buffer, blocking, offset, bytes, from_host, waits, wait_list, to);
  });
}

cl_int CL_API_CALL read_buffer_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                    const size_t* buffer_origin, const size_t* host_origin, const size_t* region,
                                    size_t buffer_row, size_t buffer_slice, size_t host_row, size_t host_slice,
                                    void* to_host, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueReadBufferRect", GPUPROF_OP_COPY_DTOH, volume(region), blocking != CL_FALSE};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueReadBufferRect(queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row,
                                          buffer_slice, host_row, host_slice, to_host, waits, wait_list, to);
  });
}

cl_int CL_API_CALL write_buffer_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     const size_t* buffer_origin, const size_t* host_origin, const size_t* region,
                                     size_t buffer_row, size_t buffer_slice, size_t host_row, size_t host_slice,
                                     const void* from_host, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueWriteBufferRect", GPUPROF_OP_COPY_HTOD, volume(region), blocking != CL_FALSE};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueWriteBufferRect(queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row,
                                           buffer_slice, host_row, host_slice, from_host, waits, wait_list, to);
  });
}

cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem into, size_t from_offset, size_t into_offset,
                               size_t bytes, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueCopyBuffer", GPUPROF_OP_COPY_DTOD, bytes};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueCopyBuffer(queue, from, into, from_offset, into_offset, bytes, waits, wait_list, to);
  });
}

cl_int CL_API_CALL copy_buffer_rect(cl_command_queue queue, cl_mem from, cl_mem into, const size_t* from_origin,
                                    const size_t* into_origin, const size_t* region, size_t from_row, size_t from_slice,
                                    size_t into_row, size_t into_slice, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueCopyBufferRect", GPUPROF_OP_COPY_DTOD, volume(region)};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueCopyBufferRect(queue, from, into, from_origin, into_origin, region, from_row, from_slice,
                                          into_row, into_slice, waits, wait_list, to);
  });
}

cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer, const void* pattern, size_t pattern_bytes,
                               size_t offset, size_t bytes, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueFillBuffer", GPUPROF_OP_FILL, bytes};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueFillBuffer(queue, buffer, pattern, pattern_bytes, offset, bytes, waits, wait_list, to);
  });
}

cl_int CL_API_CALL fill_image(cl_command_queue queue, cl_mem image, const void* color, const size_t* origin,
                              const size_t* region, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueFillImage", GPUPROF_OP_FILL, image_bytes(image, region)};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueFillImage(queue, image, color, origin, region, waits, wait_list, to);
  });
}

cl_int CL_API_CALL read_image(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t* origin,
                              const size_t* region, size_t row, size_t slice, void* to_host, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueReadImage", GPUPROF_OP_COPY_DTOH, image_bytes(image, region),
                           blocking != CL_FALSE};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueReadImage(queue, image, blocking, origin, region, row, slice, to_host, waits, wait_list, to);
  });
}

cl_int CL_API_CALL write_image(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t* origin,
                               const size_t* region, size_t row, size_t slice, const void* from_host,
                               GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueWriteImage", GPUPROF_OP_COPY_HTOD, image_bytes(image, region),
                           blocking != CL_FALSE};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueWriteImage(queue, image, blocking, origin, region, row, slice, from_host, waits, wait_list,
                                      to);
  });
}

cl_int CL_API_CALL copy_image(cl_command_queue queue, cl_mem from, cl_mem into, const size_t* from_origin,
                              const size_t* into_origin, const size_t* region, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueCopyImage", GPUPROF_OP_COPY_DTOD, image_bytes(from, region)};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueCopyImage(queue, from, into, from_origin, into_origin, region, waits, wait_list, to);
  });
}

cl_int CL_API_CALL copy_image_to_buffer(cl_command_queue queue, cl_mem image, cl_mem buffer, const size_t* origin,
                                        const size_t* region, size_t offset, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueCopyImageToBuffer", GPUPROF_OP_COPY_DTOD, image_bytes(image, region)};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueCopyImageToBuffer(queue, image, buffer, origin, region, offset, waits, wait_list, to);
  });
}

cl_int CL_API_CALL copy_buffer_to_image(cl_command_queue queue, cl_mem buffer, cl_mem image, size_t offset,
                                        const size_t* origin, const size_t* region, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueCopyBufferToImage", GPUPROF_OP_COPY_DTOD, image_bytes(image, region)};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueCopyBufferToImage(queue, buffer, image, offset, origin, region, waits, wait_list, to);
  });
}

void* CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
                             size_t bytes, GPUPROF_WAIT_PARAMETERS, cl_int* status_ret) {
  void* mapped = nullptr;
  const Command command = {"clEnqueueMapBuffer", GPUPROF_OP_COPY_DTOH, bytes, blocking != CL_FALSE};
  const cl_int status = traced(queue, command, event, [&](cl_event* to) {
    cl_int result = CL_SUCCESS;
    mapped = target.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, bytes, waits, wait_list, to, &result);
    return result;
  });
  if (status_ret != nullptr) {
    *status_ret = status;
  }
  return mapped;
}

void* CL_API_CALL map_image(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                            const size_t* origin, const size_t* region, size_t* row, size_t* slice,
                            GPUPROF_WAIT_PARAMETERS, cl_int* status_ret) {
  void* mapped = nullptr;
  const Command command = {"clEnqueueMapImage", GPUPROF_OP_COPY_DTOH, image_bytes(image, region), blocking != CL_FALSE};
  const cl_int status = traced(queue, command, event, [&](cl_event* to) {
    cl_int result = CL_SUCCESS;
    mapped = target.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice, waits, wait_list, to,
                                      &result);
    return result;
  });
  if (status_ret != nullptr) {
    *status_ret = status;
  }
  return mapped;
}

cl_int CL_API_CALL unmap(cl_command_queue queue, cl_mem memory, void* mapped, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueUnmapMemObject", GPUPROF_OP_COPY_HTOD};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueUnmapMemObject(queue, memory, mapped, waits, wait_list, to);
  });
}

cl_int CL_API_CALL svm_memcpy(cl_command_queue queue, cl_bool blocking, void* into, const void* from, size_t bytes,
                              GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueSVMMemcpy", GPUPROF_OP_COPY, bytes, blocking != CL_FALSE};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueSVMMemcpy(queue, blocking, into, from, bytes, waits, wait_list, to);
  });
}

cl_int CL_API_CALL svm_fill(cl_command_queue queue, void* memory, const void* pattern, size_t pattern_bytes,
                            size_t bytes, GPUPROF_WAIT_PARAMETERS) {
  const Command command = {"clEnqueueSVMMemFill", GPUPROF_OP_FILL, bytes};
  return traced(queue, command, event, [&](cl_event* to) {
    return target.clEnqueueSVMMemFill(queue, memory, pattern, pattern_bytes, bytes, waits, wait_list, to);
  });
}

#undef GPUPROF_WAIT_PARAMETERS

}  // namespace

void hook_commands(cl_icd_dispatch& table) {
  if (table.clSetEventCallback == nullptr) {
    return;  // OpenCL 1.0: nobody would tell us that a command has completed
  }
  GPUPROF_HOOK(table, clEnqueueNDRangeKernel, ndrange_kernel);
  GPUPROF_HOOK(table, clEnqueueTask, task);
  GPUPROF_HOOK(table, clEnqueueNativeKernel, native_kernel);
  GPUPROF_HOOK(table, clEnqueueReadBuffer, read_buffer);
  GPUPROF_HOOK(table, clEnqueueWriteBuffer, write_buffer);
  GPUPROF_HOOK(table, clEnqueueReadBufferRect, read_buffer_rect);
  GPUPROF_HOOK(table, clEnqueueWriteBufferRect, write_buffer_rect);
  GPUPROF_HOOK(table, clEnqueueCopyBuffer, copy_buffer);
  GPUPROF_HOOK(table, clEnqueueCopyBufferRect, copy_buffer_rect);
  GPUPROF_HOOK(table, clEnqueueFillBuffer, fill_buffer);
  GPUPROF_HOOK(table, clEnqueueFillImage, fill_image);
  GPUPROF_HOOK(table, clEnqueueReadImage, read_image);
  GPUPROF_HOOK(table, clEnqueueWriteImage, write_image);
  GPUPROF_HOOK(table, clEnqueueCopyImage, copy_image);
  GPUPROF_HOOK(table, clEnqueueCopyImageToBuffer, copy_image_to_buffer);
  GPUPROF_HOOK(table, clEnqueueCopyBufferToImage, copy_buffer_to_image);
  GPUPROF_HOOK(table, clEnqueueMapBuffer, map_buffer);
  GPUPROF_HOOK(table, clEnqueueMapImage, map_image);
  GPUPROF_HOOK(table, clEnqueueUnmapMemObject, unmap);
  GPUPROF_HOOK(table, clEnqueueSVMMemcpy, svm_memcpy);
  GPUPROF_HOOK(table, clEnqueueSVMMemFill, svm_fill);
}

}  // namespace gpuprof::injection::opencl
