// Records command buffers (cl_khr_command_buffer). OpenCL measures only complete command buffers. So each enqueue of a
// buffer is one work item, whose name lists the commands in the buffer. A buffer with several queues counts as work of
// its first queue.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/atomics.h"
#include "base/handle_table.h"
#include "base/keep_errno.h"
#include "ipc/emit.h"
#include "opencl/dispatch.h"
#include "opencl/enqueue.h"
#include "opencl/extensions.h"
#include "runtime/lifecycle.h"

namespace gpuprof::injection::opencl {
namespace {

constexpr size_t kKinds = 8;
constexpr size_t kKindBytes = 100;

struct Kind {
  char name[kKindBytes];  // name of a kernel, or the label of a copy or fill
  uint32_t count;
};

struct CommandBuffer {
  const void* handle;
  CommandBuffer* next;
  cl_command_queue queue;
  uint32_t references;  // number of references that the user holds
  uint32_t kinds;
  uint32_t others;  // number of commands whose kind is beyond the first kKinds kinds
  Kind kind[kKinds];
};

constinit HandleTable<CommandBuffer, 64> buffers;
constinit uint32_t lock = 0;
constinit uint32_t noted_to = 0;  // id of the source that has emitted the note about command buffers

constinit clCreateCommandBufferKHR_fn create_driver = nullptr;
constinit clRetainCommandBufferKHR_fn retain_driver = nullptr;
constinit clReleaseCommandBufferKHR_fn release_driver = nullptr;
constinit clEnqueueCommandBufferKHR_fn enqueue_driver = nullptr;

// Calls `use` with a buffer's entry, or with null if the buffer is unknown. If the lock is busy, does not call it and
// counts a loss.
template <typename Use>
void with_buffer(cl_command_buffer_khr handle, const Use& use) {
  if (!try_lock_bounded(&lock)) {
    lost(GPUPROF_LOSS_DETAIL, 1);
    return;
  }
  use(buffers.find(handle));
  unlock(&lock);
}

cl_command_buffer_khr CL_API_CALL create(cl_uint count, const cl_command_queue* queues,
                                         const cl_command_buffer_properties_khr* properties, cl_int* status) {
  cl_command_buffer_khr handle = create_driver(count, queues, properties, status);
  const KeepErrno keep_errno;
  if (handle != nullptr && count > 0) {
    with_buffer(handle, [&](CommandBuffer* /*stale*/) {
      free(buffers.take(handle));
      if (CommandBuffer* buffer = buffers.add(handle); buffer != nullptr) {
        buffer->queue = queues[0];
        buffer->references = 1;
      }
    });
  }
  return handle;
}

cl_int CL_API_CALL retain(cl_command_buffer_khr handle) {
  const cl_int status = retain_driver(handle);
  const KeepErrno keep_errno;
  if (status == CL_SUCCESS) {
    with_buffer(handle, [](CommandBuffer* buffer) {
      if (buffer != nullptr) {
        ++buffer->references;
      }
    });
  }
  return status;
}

// Removes the entry before the driver's release, because afterwards another buffer may have the handle.
cl_int CL_API_CALL release(cl_command_buffer_khr handle) {
  {
    const KeepErrno keep_errno;
    with_buffer(handle, [&](CommandBuffer* buffer) {
      if (buffer != nullptr && --buffer->references == 0) {
        free(buffers.take(handle));
      }
    });
  }
  return release_driver(handle);
}

void add_command(CommandBuffer& buffer, const char* name) {
  uint32_t i = 0;
  while (i < buffer.kinds && strncmp(buffer.kind[i].name, name, kKindBytes - 1) != 0) {
    ++i;
  }
  if (i == kKinds) {
    ++buffer.others;
    return;
  }
  if (i == buffer.kinds) {
    ++buffer.kinds;
    snprintf(buffer.kind[i].name, kKindBytes, "%s", name);
  }
  ++buffer.kind[i].count;
}

// Writes "command buffer: NAME xCOUNT, ...".
void describe(const CommandBuffer& buffer, char (&text)[1024]) {
  static_assert(sizeof(text) > kKinds * (kKindBytes + 14) + 64);
  int at = snprintf(text, sizeof(text), "command buffer");
  for (uint32_t i = 0; i < buffer.kinds; ++i) {
    at += snprintf(text + at, sizeof(text) - at, "%s%s x%u", i == 0 ? ": " : ", ", buffer.kind[i].name,
                   buffer.kind[i].count);
  }
  if (buffer.others != 0) {
    snprintf(text + at, sizeof(text) - at, ", %u other commands", buffer.others);
  }
}

// A function that adds a command to a buffer. `label` is null for kernels.
struct Adding {
  const char* function;
  const char* label;
};
constexpr Adding kAdding[] = {
    {"clCommandNDRangeKernelKHR", nullptr},   {"clCommandCopyBufferKHR", "[copy]"},
    {"clCommandCopyBufferRectKHR", "[copy]"}, {"clCommandCopyBufferToImageKHR", "[copy]"},
    {"clCommandCopyImageKHR", "[copy]"},      {"clCommandCopyImageToBufferKHR", "[copy]"},
    {"clCommandSVMMemcpyKHR", "[copy]"},      {"clCommandFillBufferKHR", "[fill]"},
    {"clCommandFillImageKHR", "[fill]"},      {"clCommandSVMMemFillKHR", "[fill]"},
};
constexpr size_t kAddings = sizeof(kAdding) / sizeof(*kAdding);

// The functions' parameters differ between versions of the extension, but each is an integer or a pointer. So a hook
// passes on as many words as the longest version has. All versions have the properties and the kernel of a kernel
// command in the same positions.
using Word = uint64_t;
using AddFunction = cl_int(CL_API_CALL*)(cl_command_buffer_khr, cl_command_queue, Word, cl_kernel, Word, Word, Word,
                                         Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);
constinit AddFunction add_drivers[kAddings] = {};

void added(cl_command_buffer_khr handle, const char* label, cl_kernel kernel) {
  char name[512] = GPUPROF_UNKNOWN_KERNEL;
  if (label == nullptr &&
      target.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, nullptr) == CL_SUCCESS) {
    name[sizeof(name) - 1] = '\0';
    label = name;
  }
  with_buffer(handle, [&](CommandBuffer* buffer) {
    if (buffer != nullptr) {
      add_command(*buffer, label != nullptr ? label : GPUPROF_UNKNOWN_KERNEL);
    }
  });
}

template <size_t Which>
cl_int CL_API_CALL add(cl_command_buffer_khr buffer, cl_command_queue queue, Word properties, cl_kernel kernel, Word w4,
                       Word w5, Word w6, Word w7, Word w8, Word w9, Word w10, Word w11, Word w12, Word w13, Word w14,
                       Word w15, Word w16) {
  const cl_int status =
      add_drivers[Which](buffer, queue, properties, kernel, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15, w16);
  const KeepErrno keep_errno;
  if (status == CL_SUCCESS) {
    added(buffer, kAdding[Which].label, kernel);
  }
  return status;
}

template <size_t... Which>
Extension adding_extension(const char* function, std::index_sequence<Which...> /*all*/) {
  return find_extension(function, {extension(kAdding[Which].function, add<Which>, &add_drivers[Which])...});
}

void note_command_buffers() {
  if (load_relaxed(&noted_to) != source()) {
    store_relaxed(&noted_to, source());
    meta("note.opencl.command_buffers",
         "each enqueue of an OpenCL command buffer is one work item: OpenCL gives no times of the commands in it");
  }
}

// PoCL's event of a command buffer has only the times of a marker after the last command.
bool is_of_pocl(cl_command_queue queue) {
  constexpr char kPocl[] = "Portable Computing Language";
  char name[sizeof(kPocl)] = "";
  cl_device_id device = nullptr;
  cl_platform_id platform = nullptr;
  // NOLINTBEGIN(bugprone-sizeof-expression): handles are what is asked for
  return target.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, nullptr) == CL_SUCCESS &&
         target.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, nullptr) == CL_SUCCESS &&
         target.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, nullptr) == CL_SUCCESS &&
         strcmp(name, kPocl) == 0;
  // NOLINTEND(bugprone-sizeof-expression)
}

// Reports the enqueue. Returns null without a report if recording is off. The queue of a buffer
// that was created before a fork is unknown: such work counts as lost.
Pending* begin_buffer(cl_uint count, cl_command_queue* queues, cl_command_buffer_khr handle, cl_uint waits,
                      const cl_event* wait_list) {
  const KeepErrno keep_errno;
  if (!recording()) {
    count_passed();
    return nullptr;
  }
  char name[1024] = "command buffer";
  cl_command_queue queue = count > 0 && queues != nullptr ? queues[0] : nullptr;
  with_buffer(handle, [&](const CommandBuffer* buffer) {
    if (buffer != nullptr) {
      queue = queue != nullptr ? queue : buffer->queue;
      describe(*buffer, name);
    }
  });
  const Command command = {"clEnqueueCommandBufferKHR", GPUPROF_OP_GRAPH, 0, false, nullptr, name};
  Pending* pending = begin(queue, command);
  if (pending == nullptr) {
    return nullptr;
  }
  note_command_buffers();
  if (queue == nullptr || !is_of_pocl(queue) || target.clEnqueueMarkerWithWaitList == nullptr ||
      target.clEnqueueMarkerWithWaitList(queue, waits, wait_list, &pending->before) != CL_SUCCESS) {
    pending->before = nullptr;
  }
  return pending;
}

cl_int CL_API_CALL enqueue(cl_uint count, cl_command_queue* queues, cl_command_buffer_khr handle, cl_uint waits,
                           const cl_event* wait_list, cl_event* event) {
  return traced(begin_buffer(count, queues, handle, waits, wait_list), "clEnqueueCommandBufferKHR", event,
                [&](cl_event* to) { return enqueue_driver(count, queues, handle, waits, wait_list, to); });
}

}  // namespace

void forget_command_buffers() {
  buffers.forget();
  unlock(&lock);
}

Extension command_buffer_extension(const char* function) {
  const Extension adding = adding_extension(function, std::make_index_sequence<kAddings>());
  return adding.hook != nullptr
             ? adding
             : find_extension(function, {extension("clCreateCommandBufferKHR", create, &create_driver),
                                         extension("clRetainCommandBufferKHR", retain, &retain_driver),
                                         extension("clReleaseCommandBufferKHR", release, &release_driver),
                                         extension("clEnqueueCommandBufferKHR", enqueue, &enqueue_driver)});
}

}  // namespace gpuprof::injection::opencl
