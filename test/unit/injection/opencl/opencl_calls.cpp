// Performs a known number of waits, blocking copies and allocations, each kind in its own function. Prints what a
// recording must contain as lines "expect KEY=NUMBER", for layer_test.cpp and test/runtime/opencl/calls_test.py.
//
//   opencl_calls [--all-devices]     use a context of all devices of the platform
//   opencl_calls --build N           only build a program of N kernels, and run one of them
//   opencl_calls --jump              only build programs; callbacks leave some of these calls by a jump
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr size_t kBytes = 4096;
constexpr size_t kItems = 64;

struct World {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_kernel kernel = nullptr;
  cl_kernel spin = nullptr;  // takes longer than `kernel`
  cl_mem data = nullptr;
  bool has_svm = false;
  std::vector<char> host = std::vector<char>(kBytes);
};

std::map<std::string, long> expected;

// CPU time of the process, which other programs on a busy machine do not lengthen.
long cpu_time_ns() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

void check(cl_int status, const char* what) {
  if (status != CL_SUCCESS) {
    std::fprintf(stderr, "%s: OpenCL error %d\n", what, status);
    std::exit(1);
  }
}

void expect_wait(const char* site, const char* function) {
  ++expected[std::string("wait.") + site];
  ++expected[std::string("sync.") + function];
  ++expected["waits"];
}

void expect_call(const char* function) {
  ++expected[std::string("call.") + function];
  ++expected["calls"];
}

void expect_alloc(const char* site, size_t bytes) {
  ++expected["allocs"];
  expected["alloc_bytes"] += static_cast<long>(bytes);
  expected[std::string("alloc.") + site] += static_cast<long>(bytes);
}

void expect_free(size_t bytes) {
  ++expected["frees"];
  expected["free_bytes"] += static_cast<long>(bytes);
}

void launch(const World& world, cl_event* event) {
  expect_call("clEnqueueNDRangeKernel");
  check(clEnqueueNDRangeKernel(world.queue, world.kernel, 1, nullptr, &kItems, nullptr, 0, nullptr, event), "launch");
}

[[gnu::noinline]] void finish_often(const World& world) {
  for (int i = 0; i < 3; ++i) {
    launch(world, nullptr);
    expect_wait("finish_often", "clFinish");
    check(clFinish(world.queue), "clFinish");
  }
}

[[gnu::noinline]] void wait_for_events(const World& world) {
  for (int i = 0; i < 2; ++i) {
    cl_event event = nullptr;
    launch(world, &event);
    expect_wait("wait_for_events", "clWaitForEvents");
    check(clWaitForEvents(1, &event), "clWaitForEvents");
    check(clReleaseEvent(event), "clReleaseEvent");
  }
}

// The command fails, but the program waits for it.
[[gnu::noinline]] void wait_for_failure(const World& world) {
  cl_int status = CL_SUCCESS;
  cl_event event = clCreateUserEvent(world.context, &status);
  check(status, "clCreateUserEvent");
  check(clSetUserEventStatus(event, -1), "clSetUserEventStatus");
  status = clWaitForEvents(1, &event);
  if (status == CL_SUCCESS || status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
    expect_wait("wait_for_failure", "clWaitForEvents");
  }
  check(clReleaseEvent(event), "clReleaseEvent");
}

[[gnu::noinline]] void flush_often(const World& world) {
  for (int i = 0; i < 5; ++i) {
    launch(world, nullptr);
    check(clFlush(world.queue), "clFlush");
  }
}

// Makes blocking reads; every fifth read is non-blocking.
[[gnu::noinline]] void read_blocking(World& world) {
  for (int i = 0; i < 5; ++i) {
    const cl_bool blocking = i < 4 ? CL_TRUE : CL_FALSE;
    expect_call("clEnqueueReadBuffer");
    if (blocking != CL_FALSE) {
      expect_wait("read_blocking", "clEnqueueReadBuffer");
    }
    check(clEnqueueReadBuffer(world.queue, world.data, blocking, 0, kBytes, world.host.data(), 0, nullptr, nullptr),
          "read");
  }
}

[[gnu::noinline]] void write_blocking(const World& world) {
  for (int i = 0; i < 3; ++i) {
    const cl_bool blocking = i < 2 ? CL_TRUE : CL_FALSE;
    expect_call("clEnqueueWriteBuffer");
    if (blocking != CL_FALSE) {
      expect_wait("write_blocking", "clEnqueueWriteBuffer");
    }
    check(clEnqueueWriteBuffer(world.queue, world.data, blocking, 0, kBytes, world.host.data(), 0, nullptr, nullptr),
          "write");
  }
}

[[gnu::noinline]] void map_blocking(const World& world) {
  for (int i = 0; i < 2; ++i) {
    cl_int status = CL_SUCCESS;
    expect_call("clEnqueueMapBuffer");
    expect_wait("map_blocking", "clEnqueueMapBuffer");
    const cl_map_flags flags = i == 0 ? CL_MAP_READ : CL_MAP_WRITE_INVALIDATE_REGION;
    void* mapped = clEnqueueMapBuffer(world.queue, world.data, CL_TRUE, flags, 0, kBytes, 0, nullptr, nullptr, &status);
    check(status, "map");
    expect_call("clEnqueueUnmapMemObject");
    check(clEnqueueUnmapMemObject(world.queue, world.data, mapped, 0, nullptr, nullptr), "unmap");
  }
}

[[gnu::noinline]] void share_memory(World& world) {
  constexpr size_t kShared = 8192;
  void* shared = clSVMAlloc(world.context, CL_MEM_READ_WRITE, kShared, 0);
  void* later = clSVMAlloc(world.context, CL_MEM_READ_WRITE, 2 * kShared, 0);
  if (shared == nullptr || later == nullptr) {
    check(CL_OUT_OF_RESOURCES, "clSVMAlloc");
  }
  expect_alloc("share_memory", kShared);
  expect_alloc("share_memory", 2 * kShared);
  expect_call("clEnqueueSVMMemcpy");
  expect_wait("share_memory", "clEnqueueSVMMemcpy");
  check(clEnqueueSVMMemcpy(world.queue, CL_TRUE, shared, world.host.data(), kBytes, 0, nullptr, nullptr), "SVM copy");
  expect_wait("share_memory", "clEnqueueSVMMap");
  check(clEnqueueSVMMap(world.queue, CL_TRUE, CL_MAP_READ, shared, kShared, 0, nullptr, nullptr), "SVM map");
  check(clEnqueueSVMUnmap(world.queue, shared, 0, nullptr, nullptr), "SVM unmap");
  expect_wait("share_memory", "clFinish");
  check(clFinish(world.queue), "clFinish");
  clSVMFree(world.context, shared);
  expect_free(kShared);
  clSVMFree(world.context, nullptr);
  check(clEnqueueSVMFree(world.queue, 1, &later, nullptr, nullptr, 0, nullptr, nullptr), "clEnqueueSVMFree");
  expect_free(2 * kShared);
}

cl_mem make_buffer(const World& world, size_t bytes) {
  cl_int status = CL_SUCCESS;
  cl_mem buffer = clCreateBuffer(world.context, CL_MEM_READ_WRITE, bytes, nullptr, &status);
  check(status, "clCreateBuffer");
  return buffer;
}

[[gnu::noinline]] void free_buffer(cl_mem buffer) {
  check(clReleaseMemObject(buffer), "clReleaseMemObject");
}

// Retains and releases buffers. Only the last release frees a buffer.
[[gnu::noinline]] void allocate_buffers(const World& world) {
  for (const size_t bytes : {size_t{1000}, size_t{2000}, size_t{4000}}) {
    cl_mem buffer = make_buffer(world, bytes);
    expect_alloc("allocate_buffers", bytes);
    check(clRetainMemObject(buffer), "clRetainMemObject");
    check(clReleaseMemObject(buffer), "clReleaseMemObject");
    free_buffer(buffer);
    expect_free(bytes);
  }
}

// A sub-buffer uses the memory of its buffer, and keeps the buffer alive.
[[gnu::noinline]] void allocate_parts(const World& world) {
  constexpr size_t kWhole = 65536;
  cl_int status = CL_SUCCESS;
  cl_mem whole = make_buffer(world, kWhole);
  expect_alloc("allocate_parts", kWhole);
  const cl_buffer_region region = {0, kWhole / 2};
  cl_mem part = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
  check(status, "clCreateSubBuffer");
  free_buffer(whole);
  check(clReleaseMemObject(part), "clReleaseMemObject");
  expect_free(kWhole);
}

// An image of a buffer uses the buffer's memory.
[[gnu::noinline]] void allocate_by_properties(const World& world) {
  constexpr size_t kWhole = 4096;
  cl_int status = CL_SUCCESS;
  cl_mem whole = clCreateBufferWithProperties(world.context, nullptr, CL_MEM_READ_WRITE, kWhole, nullptr, &status);
  if (status != CL_SUCCESS) {
    return;  // this OpenCL is older than 3.0
  }
  expect_alloc("allocate_by_properties", kWhole);
  const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc description = {};
  description.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
  description.image_width = kWhole / 4;
  description.buffer = whole;
  cl_mem image = clCreateImage(world.context, CL_MEM_READ_WRITE, &format, &description, nullptr, &status);
  if (status == CL_SUCCESS) {
    check(clReleaseMemObject(image), "clReleaseMemObject");
  }
  free_buffer(whole);
  expect_free(kWhole);
}

size_t size_of(cl_mem memory) {
  size_t bytes = 0;
  check(clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof(bytes), &bytes, nullptr), "clGetMemObjectInfo");
  return bytes;
}

// Returns null if the device has no images.
[[gnu::noinline]] cl_mem make_image(const World& world, const char* site) {
  const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc description = {};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = 32;
  description.image_height = 16;
  cl_int status = CL_SUCCESS;
  cl_mem image = clCreateImage(world.context, CL_MEM_READ_WRITE, &format, &description, nullptr, &status);
  if (status != CL_SUCCESS) {
    return nullptr;
  }
  expect_alloc(site, size_of(image));
  return image;
}

void free_image(cl_mem image) {
  if (image != nullptr) {
    expect_free(size_of(image));
    check(clReleaseMemObject(image), "clReleaseMemObject");
  }
}

[[gnu::noinline]] void allocate_image(const World& world) {
  free_image(make_image(world, "allocate_image"));
}

template <typename Function>
Function extension(const World& world, const char* name) {
  void* const function = clGetExtensionFunctionAddressForPlatform(world.platform, name);
  return reinterpret_cast<Function>(function);
}

void expect_command(const char* kind, long bytes) {
  ++expected[std::string("buffer_") + kind];
  expected["buffer_bytes"] += bytes;
}

// Adds fills and copies of known sizes to a command buffer.
void add_copies(const World& world, cl_command_buffer_khr to) {
  const auto fill = extension<clCommandFillBufferKHR_fn>(world, "clCommandFillBufferKHR");
  const auto copy = extension<clCommandCopyBufferKHR_fn>(world, "clCommandCopyBufferKHR");
  const auto copy_rect = extension<clCommandCopyBufferRectKHR_fn>(world, "clCommandCopyBufferRectKHR");
  const cl_int zero = 0;
  check(fill(to, nullptr, world.data, &zero, sizeof(zero), 0, kBytes, 0, nullptr, nullptr, nullptr), "fill");
  expect_command("fills", kBytes);
  check(copy(to, nullptr, world.data, world.data, 0, 2048, 1000, 0, nullptr, nullptr, nullptr), "copy");
  expect_command("copies", 1000);
  const size_t from[3] = {0, 0, 0};
  const size_t behind[3] = {0, 0, 4};
  const size_t region[3] = {16, 4, 2};
  check(copy_rect(to, nullptr, world.data, world.data, from, behind, region, 128, 512, 128, 512, 0, nullptr, nullptr,
                  nullptr),
        "copy of a rectangle");
  expect_command("copies", 16 * 4 * 2);
  // extension_layer.cpp provides this function as version 0.9.5 of the extension has it: with properties.
  using FillMemory =
      cl_int(CL_API_CALL*)(cl_command_buffer_khr, cl_command_queue, const cl_properties*, void*, const void*, size_t,
                           size_t, cl_uint, const cl_sync_point_khr*, cl_sync_point_khr*, cl_mutable_command_khr*);
  const auto fill_memory = extension<FillMemory>(world, "clCommandSVMMemFillKHR");
  if (fill_memory != nullptr) {
    cl_int memory[8] = {};
    check(fill_memory(to, nullptr, nullptr, memory, &zero, sizeof(zero), sizeof(memory), 0, nullptr, nullptr, nullptr),
          "fill of memory");
    expect_command("fills", sizeof(memory));
  }
}

// Adds commands for an image of 32 x 16 elements with 4 bytes each.
void add_image_copies(const World& world, cl_command_buffer_khr to, cl_mem image) {
  const auto fill = extension<clCommandFillImageKHR_fn>(world, "clCommandFillImageKHR");
  const auto to_buffer = extension<clCommandCopyImageToBufferKHR_fn>(world, "clCommandCopyImageToBufferKHR");
  const auto to_image = extension<clCommandCopyBufferToImageKHR_fn>(world, "clCommandCopyBufferToImageKHR");
  const auto copy = extension<clCommandCopyImageKHR_fn>(world, "clCommandCopyImageKHR");
  const cl_uint color[4] = {};
  const size_t origin[3] = {0, 0, 0};
  const size_t aside[3] = {16, 8, 0};
  const size_t all[3] = {32, 16, 1};
  const size_t part[3] = {8, 4, 1};
  check(fill(to, nullptr, image, color, origin, all, 0, nullptr, nullptr, nullptr), "fill of an image");
  expect_command("fills", 32 * 16 * 4);
  check(to_buffer(to, nullptr, image, world.data, origin, part, 0, 0, nullptr, nullptr, nullptr), "image to buffer");
  check(to_image(to, nullptr, world.data, image, 0, origin, part, 0, nullptr, nullptr, nullptr), "buffer to image");
  check(copy(to, nullptr, image, image, origin, aside, part, 0, nullptr, nullptr, nullptr), "image to image");
  for (int i = 0; i < 3; ++i) {
    expect_command("copies", 8 * 4 * 4);
  }
}

// Enqueues a command buffer with three kernels, fills and copies. A kernel outside of it shows how long one of the
// kernels takes.
[[gnu::noinline]] void run_command_buffers(const World& world) {
  const auto create = extension<clCreateCommandBufferKHR_fn>(world, "clCreateCommandBufferKHR");
  const auto retain = extension<clRetainCommandBufferKHR_fn>(world, "clRetainCommandBufferKHR");
  const auto release = extension<clReleaseCommandBufferKHR_fn>(world, "clReleaseCommandBufferKHR");
  const auto kernel = extension<clCommandNDRangeKernelKHR_fn>(world, "clCommandNDRangeKernelKHR");
  const auto finalize = extension<clFinalizeCommandBufferKHR_fn>(world, "clFinalizeCommandBufferKHR");
  const auto enqueue = extension<clEnqueueCommandBufferKHR_fn>(world, "clEnqueueCommandBufferKHR");
  if (create == nullptr || enqueue == nullptr) {
    return;
  }
  cl_int status = CL_SUCCESS;
  cl_command_buffer_khr buffer = create(1, &world.queue, nullptr, &status);
  check(status, "clCreateCommandBufferKHR");
  const size_t one = 1;
  cl_mem image = make_image(world, "run_command_buffers");
  add_copies(world, buffer);
  if (image != nullptr) {
    add_image_copies(world, buffer, image);
  }
  for (int i = 0; i < 3; ++i) {
    check(kernel(buffer, nullptr, nullptr, world.spin, 1, nullptr, &one, nullptr, 0, nullptr, nullptr, nullptr),
          "spin");
  }
  check(finalize(buffer), "clFinalizeCommandBufferKHR");
  check(retain(buffer), "clRetainCommandBufferKHR");
  check(release(buffer), "clReleaseCommandBufferKHR");
  for (int i = 0; i < 3; ++i) {
    cl_event event = nullptr;
    expect_call("clEnqueueNDRangeKernel");
    const long begin_ns = cpu_time_ns();
    check(clEnqueueNDRangeKernel(world.queue, world.spin, 1, nullptr, &one, nullptr, 0, nullptr, &event), "spin");
    expect_wait("run_command_buffers", "clFinish");
    check(clFinish(world.queue), "clFinish");
    const long spent_ns = cpu_time_ns() - begin_ns;
    expected["spin_ns"] = i == 0 ? spent_ns : std::min(expected["spin_ns"], spent_ns);
    expect_call("clEnqueueCommandBufferKHR");
    ++expected["command_buffers"];
    check(enqueue(0, nullptr, buffer, 1, &event, nullptr), "clEnqueueCommandBufferKHR");
    check(clReleaseEvent(event), "clReleaseEvent");
    expect_wait("run_command_buffers", "clFinish");
    check(clFinish(world.queue), "clFinish");
  }
  check(release(buffer), "clReleaseCommandBufferKHR");
  free_image(image);
}

// extension_layer.cpp provides the functions if OPENCL_LAYERS names it.
[[gnu::noinline]] void use_unified_memory(World& world) {
  constexpr size_t kUnified = 4096;
  const auto on_host = extension<clHostMemAllocINTEL_fn>(world, "clHostMemAllocINTEL");
  const auto on_device = extension<clDeviceMemAllocINTEL_fn>(world, "clDeviceMemAllocINTEL");
  const auto release = extension<clMemFreeINTEL_fn>(world, "clMemFreeINTEL");
  const auto copy = extension<clEnqueueMemcpyINTEL_fn>(world, "clEnqueueMemcpyINTEL");
  const auto fill = extension<clEnqueueMemFillINTEL_fn>(world, "clEnqueueMemFillINTEL");
  if (on_host == nullptr) {
    return;
  }
  void* host = on_host(world.context, nullptr, kUnified, 0, nullptr);
  void* device = on_device(world.context, world.device, nullptr, 2 * kUnified, 0, nullptr);
  check(host == nullptr || device == nullptr ? CL_OUT_OF_RESOURCES : CL_SUCCESS, "unified memory");
  expect_alloc("use_unified_memory", kUnified);
  expect_alloc("use_unified_memory", 2 * kUnified);
  const cl_int zero = 0;
  expect_call("clEnqueueMemFillINTEL");
  check(fill(world.queue, host, &zero, sizeof(zero), kUnified, 0, nullptr, nullptr), "clEnqueueMemFillINTEL");
  expect_call("clEnqueueMemcpyINTEL");
  expect_wait("use_unified_memory", "clEnqueueMemcpyINTEL");
  check(copy(world.queue, CL_TRUE, device, host, kUnified, 0, nullptr, nullptr), "clEnqueueMemcpyINTEL");
  check(release(world.context, host), "clMemFreeINTEL");
  check(release(world.context, device), "clMemFreeINTEL");
  expect_free(kUnified);
  expect_free(2 * kUnified);
}

using Unknown = double (*)(int, int, int, int, int, int, int, int, double);

void call_unknown_functions(const World& world) {
  for (const char* name : {"clRunTEST", "clEnqueueTEST"}) {
    const auto function = extension<Unknown>(world, name);
    for (int i = 0; function != nullptr && i < 3; ++i) {
      ++expected["unknown"];
      check(function(1, 2, 3, 4, 5, 6, 7, 8, 0.5) == 36.5 ? CL_SUCCESS : CL_INVALID_VALUE, name);
    }
  }
}

// Makes calls that the driver rejects. The layer records them as failed calls, and two of them as failed launches.
[[gnu::noinline]] void be_refused(World& world) {
  cl_int status = CL_SUCCESS;
  const bool refused = clCreateBuffer(world.context, CL_MEM_READ_WRITE, 0, nullptr, &status) == nullptr &&
                       clSVMAlloc(world.context, CL_MEM_READ_WRITE, 0, 0) == nullptr &&
                       clEnqueueReadBuffer(nullptr, world.data, CL_TRUE, 0, kBytes, world.host.data(), 0, nullptr,
                                           nullptr) != CL_SUCCESS &&
                       clFinish(nullptr) != CL_SUCCESS && clWaitForEvents(0, nullptr) != CL_SUCCESS &&
                       clEnqueueReadBuffer(world.queue, world.data, CL_TRUE, kBytes, kBytes, world.host.data(), 0,
                                           nullptr, nullptr) != CL_SUCCESS;
  check(refused ? CL_SUCCESS : CL_INVALID_VALUE, "what must be refused");
  expected["failed"] += 2;
}

void open_world(World& world, bool all_devices) {
  cl_platform_id& platform = world.platform;
  cl_device_id devices[16] = {};
  cl_uint count = 0;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 16, devices, &count) != CL_SUCCESS) {
    std::exit(77);
  }
  world.device = devices[0];
  expected["devices"] = all_devices ? static_cast<long>(count) : 1;
  cl_int status = CL_SUCCESS;
  world.context = clCreateContext(nullptr, all_devices ? count : 1, devices, nullptr, nullptr, &status);
  check(status, "clCreateContext");
  world.queue = clCreateCommandQueueWithProperties(world.context, world.device, nullptr, &status);
  check(status, "clCreateCommandQueueWithProperties");
  const char* source =
      "kernel void work(global int* data) { data[get_global_id(0)] = get_global_id(0); }"
      "kernel void spin(global int* data) { for (int i = 0; i < 1000000; ++i) data[i % 7] += i; }";
  cl_program program = clCreateProgramWithSource(world.context, 1, &source, nullptr, &status);
  check(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), "clBuildProgram");
  world.kernel = clCreateKernel(program, "work", &status);
  check(status, "clCreateKernel");
  world.spin = clCreateKernel(program, "spin", &status);
  check(status, "clCreateKernel");
  cl_device_svm_capabilities svm = 0;
  clGetDeviceInfo(world.device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, nullptr);
  world.has_svm = svm != 0 && !all_devices;
  clReleaseProgram(program);
}

// Prints how long the build took by the program's own clock.
__attribute__((noinline)) void build(World& world, int kernels) {
  std::string source;
  for (int i = 0; i < kernels; ++i) {
    const std::string number = std::to_string(i);
    source += "kernel void k" + number + "(global float* a) { float x = a[get_global_id(0)];" + "for (int j = 0; j < " +
              number + "; ++j) { x = sin(x) * " + number + ".5f + cos(x + j); " + "if (x > j) x = exp(x) - log(x + " +
              number + "); } a[get_global_id(0)] = x; }\n";
  }
  const char* text = source.c_str();
  cl_int status = CL_SUCCESS;
  cl_program program = clCreateProgramWithSource(world.context, 1, &text, nullptr, &status);
  check(status, "clCreateProgramWithSource");
  timespec begin = {};
  timespec end = {};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  check(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), "clBuildProgram");
  clock_gettime(CLOCK_MONOTONIC, &end);
  expected["build_ns"] = (end.tv_sec - begin.tv_sec) * 1'000'000'000 + end.tv_nsec - begin.tv_nsec;
  cl_kernel kernel = clCreateKernel(program, "k0", &status);
  check(status, "clCreateKernel");
  check(clSetKernelArg(kernel, 0, sizeof(void*), &world.data), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(world.queue, kernel, 1, nullptr, &kItems, nullptr, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  check(clFinish(world.queue), "clFinish");
}

jmp_buf leave;
void CL_CALLBACK jump(cl_program /*program*/, void* /*data*/) {
  longjmp(leave, 1);
}

__attribute__((noinline)) void build_one(World& world, void(CL_CALLBACK* when_built)(cl_program, void*)) {
  const char* text = "kernel void k(global int* data) { data[0] = 1; }";
  cl_int status = CL_SUCCESS;
  cl_program program = clCreateProgramWithSource(world.context, 1, &text, nullptr, &status);
  check(status, "clCreateProgramWithSource");
  check(clBuildProgram(program, 0, nullptr, "", when_built, nullptr), "clBuildProgram");
}

__attribute__((noinline)) void build_deeper(World& world) {
  volatile char stack[16'384];
  std::fill(std::begin(stack), std::end(stack), '\1');
  build_one(world, nullptr);
  stack[0] = 2;
}

// After a jump out of a call, calls with a higher, the same and a lower frame follow.
__attribute__((noinline)) void jump_out(World& world) {
  static volatile int round = 0;
  for (round = 0; round < 3; round = round + 1) {
    if (setjmp(leave) == 0) {
      build_one(world, jump);
      std::exit(77);  // the driver does not call back on this thread
    }
    round == 0 ? build_deeper(world) : build_one(world, nullptr);
    ++expected["built"];
  }
}

void print_expected() {
  for (const auto& [key, number] : expected) {
    std::printf("expect %s=%ld\n", key.c_str(), number);
  }
}

}  // namespace

int main(int argc, char** argv) {
  World world;
  open_world(world, argc > 1 && std::strcmp(argv[1], "--all-devices") == 0);
  world.data = make_buffer(world, kBytes);
  if (argc > 2 && std::strcmp(argv[1], "--build") == 0) {
    build(world, std::atoi(argv[2]));
    print_expected();
    return 0;
  }
  if (argc > 1 && std::strcmp(argv[1], "--jump") == 0) {
    expected["built"] = 1;
    jump_out(world);
    print_expected();
    return 0;
  }
  expect_alloc("main", kBytes);  // this buffer is never freed
  check(clSetKernelArg(world.kernel, 0, sizeof(void*), &world.data), "clSetKernelArg");
  check(clSetKernelArg(world.spin, 0, sizeof(void*), &world.data), "clSetKernelArg");
  finish_often(world);
  wait_for_events(world);
  wait_for_failure(world);
  flush_often(world);
  read_blocking(world);
  write_blocking(world);
  map_blocking(world);
  if (world.has_svm) {
    share_memory(world);
  }
  allocate_buffers(world);
  allocate_parts(world);
  allocate_by_properties(world);
  allocate_image(world);
  run_command_buffers(world);
  use_unified_memory(world);
  be_refused(world);
  call_unknown_functions(world);
  expect_wait("main", "clFinish");
  check(clFinish(world.queue), "clFinish");
  print_expected();
  return 0;
}
