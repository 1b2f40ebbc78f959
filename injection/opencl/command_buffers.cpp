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
  uint64_t bytes;               // sum of its copies and fills
  uint32_t references;          // number of references that the user holds
  bool copies_have_properties;  // copies and fills have the parameter for properties: extension version 0.9.5 or later
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

// Returns the version of cl_khr_command_buffer on the queue's device; 0: unknown.
cl_version extension_version(cl_command_queue queue) {
  cl_device_id device = nullptr;
  size_t bytes = 0;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): a handle is what is asked for
  if (target.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, nullptr) != CL_SUCCESS ||
      target.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, 0, nullptr, &bytes) != CL_SUCCESS) {
    return 0;
  }
  auto* all = static_cast<cl_name_version*>(calloc(1, bytes));
  cl_version version = 0;
  if (all != nullptr &&
      target.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, bytes, all, nullptr) == CL_SUCCESS) {
    for (size_t i = 0; i < bytes / sizeof(*all); ++i) {
      if (strncmp(all[i].name, "cl_khr_command_buffer", sizeof(all[i].name)) == 0) {
        version = all[i].version;
      }
    }
  }
  free(all);
  return version;
}

cl_command_buffer_khr CL_API_CALL create(cl_uint count, const cl_command_queue* queues,
                                         const cl_command_buffer_properties_khr* properties, cl_int* status) {
  cl_command_buffer_khr handle = create_driver(count, queues, properties, status);
  const KeepErrno keep_errno;
  if (handle != nullptr && count > 0) {
    const bool copies_have_properties = extension_version(queues[0]) >= CL_MAKE_VERSION(0, 9, 5);
    with_buffer(handle, [&](CommandBuffer* /*stale*/) {
      free(buffers.take(handle));
      if (CommandBuffer* buffer = buffers.add(handle); buffer != nullptr) {
        buffer->queue = queues[0];
        buffer->references = 1;
        buffer->copies_have_properties = copies_have_properties;
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

// Which of a copy's or fill's parameters have its size. Parameters are counted after the queue and the properties.
struct Size {
  int8_t bytes = -1;
  int8_t region = -1;
  int8_t image = -1;  // -1: the region is one of a buffer
};

// A function that adds a command to a buffer. `label` is null for kernels.
struct Adding {
  const char* function;
  const char* label;
  Size size;
};
constexpr Adding kAdding[] = {
    {"clCommandNDRangeKernelKHR", nullptr, {}},
    {"clCommandCopyBufferKHR", "[copy]", {.bytes = 4}},
    {"clCommandCopyBufferRectKHR", "[copy]", {.region = 4}},
    {"clCommandCopyBufferToImageKHR", "[copy]", {.region = 4, .image = 1}},
    {"clCommandCopyImageKHR", "[copy]", {.region = 4, .image = 0}},
    {"clCommandCopyImageToBufferKHR", "[copy]", {.region = 3, .image = 0}},
    {"clCommandSVMMemcpyKHR", "[copy]", {.bytes = 2}},
    {"clCommandFillBufferKHR", "[fill]", {.bytes = 4}},
    {"clCommandFillImageKHR", "[fill]", {.region = 3, .image = 0}},
    {"clCommandSVMMemFillKHR", "[fill]", {.bytes = 3}},
};
constexpr size_t kAddings = sizeof(kAdding) / sizeof(*kAdding);

// The functions' parameters differ between versions of the extension, but each is an integer or a pointer. So a hook
// passes on as many words as the longest version has. All versions have the properties and the kernel of a kernel
// command in the same positions. Copies and fills have properties since version 0.9.5.
using Word = uint64_t;
constexpr size_t kWords = 15;  // after the queue
using AddFunction = cl_int(CL_API_CALL*)(cl_command_buffer_khr, cl_command_queue, Word, Word, Word, Word, Word, Word,
                                         Word, Word, Word, Word, Word, Word, Word, Word, Word);
constinit AddFunction add_drivers[kAddings] = {};

// Returns the bytes of a copy or fill, whose parameters after the queue and the properties begin at `words`.
uint64_t bytes_of(const Size& size, const Word* words) {
  if (size.bytes >= 0) {
    return words[size.bytes];
  }
  if (size.region < 0) {
    return 0;
  }
  const auto* region = reinterpret_cast<const size_t*>(words[size.region]);
  return size.image < 0 ? volume(region) : image_bytes(reinterpret_cast<cl_mem>(words[size.image]), region);
}

void added(cl_command_buffer_khr handle, const Adding& what, const Word (&words)[kWords]) {
  char name[512] = GPUPROF_UNKNOWN_KERNEL;
  const char* label = what.label;
  if (label == nullptr) {
    label = name;
    auto* kernel = reinterpret_cast<cl_kernel>(words[1]);
    if (target.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, nullptr) != CL_SUCCESS) {
      label = GPUPROF_UNKNOWN_KERNEL;
    }
    name[sizeof(name) - 1] = '\0';
  }
  bool known = false;
  bool has_properties = words[0] == 0;  // drivers accept a null only as properties
  with_buffer(handle, [&](const CommandBuffer* buffer) {
    known = buffer != nullptr;
    has_properties = has_properties || (known && buffer->copies_have_properties);
  });
  const uint64_t bytes = known ? bytes_of(what.size, words + (has_properties ? 1 : 0)) : 0;
  with_buffer(handle, [&](CommandBuffer* buffer) {
    if (buffer != nullptr) {
      add_command(*buffer, label);
      buffer->bytes += bytes;
    }
  });
}

template <size_t Which, typename... Words>
cl_int CL_API_CALL add(cl_command_buffer_khr buffer, cl_command_queue queue, Words... words) {
  const cl_int status = add_drivers[Which](buffer, queue, words...);
  const KeepErrno keep_errno;
  if (status == CL_SUCCESS) {
    added(buffer, kAdding[Which], {words...});
  }
  return status;
}

template <size_t... Which>
Extension adding_extension(const char* function, std::index_sequence<Which...> /*all*/) {
  return find_extension(
      function, {extension(kAdding[Which].function, static_cast<AddFunction>(add<Which>), &add_drivers[Which])...});
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
  uint64_t bytes = 0;
  cl_command_queue queue = count > 0 && queues != nullptr ? queues[0] : nullptr;
  with_buffer(handle, [&](const CommandBuffer* buffer) {
    if (buffer != nullptr) {
      queue = queue != nullptr ? queue : buffer->queue;
      describe(*buffer, name);
      bytes = buffer->bytes;
    } else if (queue != nullptr) {
      lost(GPUPROF_LOSS_DETAIL, 1);  // its commands and bytes are unknown
    }
  });
  const Command command = {"clEnqueueCommandBufferKHR", GPUPROF_OP_GRAPH, bytes, false, nullptr, name};
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
