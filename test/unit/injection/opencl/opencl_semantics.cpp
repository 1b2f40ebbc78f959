// Prints the OpenCL behaviour that the layer could affect. The output must be equal with and without the layer.
// layer_test.cpp runs it both ways.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

struct World {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_program program = nullptr;
};

void print_queue(const char* what, cl_command_queue queue) {
  cl_command_queue_properties properties = 0;
  cl_int status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, nullptr);
  std::printf("%s: properties status %d value %lx", what, status, static_cast<unsigned long>(properties));
  cl_queue_properties list[16] = {};
  size_t bytes = 0;
  status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, 0, nullptr, &bytes);
  std::printf(", array status %d bytes %zu", status, bytes);
  status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof(list), list, &bytes);
  std::printf(", status %d bytes %zu:", status, bytes);
  for (size_t i = 0; i < bytes / sizeof(list[0]) && i < 16; ++i) {
    std::printf(" %lx", static_cast<unsigned long>(list[i]));
  }
  status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, 1, list, nullptr);
  std::printf(", too small status %d\n", bytes == 0 ? 0 : status);
}

// Times differ between runs, but the result of the query must not.
void print_profiling(const char* what, cl_event event) {
  cl_ulong start = 0;
  cl_ulong end = 0;
  const cl_int first = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, nullptr);
  const cl_int second = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, nullptr);
  std::printf("%s: profiling %d %d, sane %d\n", what, first, second, static_cast<int>(end >= start));
}

std::atomic<int> callbacks{0};
int callbacks_asked = 0;

void CL_CALLBACK on_complete(cl_event /*event*/, cl_int status, void* data) {
  if (status == CL_COMPLETE && data == &callbacks) {
    ++callbacks;
  }
}

void run_kernels(const World& world, cl_command_queue queue, const char* what) {
  cl_int status = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(world.program, "work", &status);
  cl_mem buffer = clCreateBuffer(world.context, CL_MEM_READ_WRITE, 1024, nullptr, &status);
  clSetKernelArg(kernel, 0, sizeof(void*), &buffer);
  const size_t items = 256;
  cl_event first = nullptr;
  cl_event second = nullptr;
  std::printf("%s: enqueue %d\n", what,
              clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, &first));
  std::printf("%s: enqueue task %d\n", what, clEnqueueTask(queue, kernel, 1, &first, &second));
  callbacks_asked += clSetEventCallback(second, CL_COMPLETE, on_complete, &callbacks) == CL_SUCCESS ? 1 : 0;
  std::printf("%s: wait %d\n", what, clWaitForEvents(1, &second));
  cl_int done = 1;
  cl_command_type type = 0;
  cl_command_queue of = nullptr;
  clGetEventInfo(second, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(done), &done, nullptr);
  clGetEventInfo(second, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, nullptr);
  clGetEventInfo(second, CL_EVENT_COMMAND_QUEUE, sizeof(void*), &of, nullptr);
  std::printf("%s: status %d type %x queue %d\n", what, done, type, static_cast<int>(of == queue));
  print_profiling(what, first);
  std::printf("%s: release %d %d\n", what, clReleaseEvent(first), clReleaseEvent(second));
  std::printf("%s: refused %d\n", what,
              clEnqueueNDRangeKernel(queue, kernel, 4, nullptr, &items, nullptr, 0, nullptr, nullptr));
  clFinish(queue);
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
}

void run_copies(const World& world, cl_command_queue queue) {
  cl_int status = CL_SUCCESS;
  std::vector<unsigned char> host(4096);
  for (size_t i = 0; i < host.size(); ++i) {
    host[i] = static_cast<unsigned char>(i * 7);
  }
  cl_mem a = clCreateBuffer(world.context, CL_MEM_READ_WRITE, host.size(), nullptr, &status);
  cl_mem b = clCreateBuffer(world.context, CL_MEM_READ_WRITE, host.size(), nullptr, &status);
  std::printf("write %d\n", clEnqueueWriteBuffer(queue, a, CL_FALSE, 0, host.size(), host.data(), 0, nullptr, nullptr));
  std::printf("copy %d\n", clEnqueueCopyBuffer(queue, a, b, 0, 0, host.size(), 0, nullptr, nullptr));
  const unsigned char pattern = 0x5a;
  std::printf("fill %d\n", clEnqueueFillBuffer(queue, b, &pattern, 1, 0, 1024, 0, nullptr, nullptr));
  std::vector<unsigned char> back(host.size());
  std::printf("read %d\n", clEnqueueReadBuffer(queue, b, CL_TRUE, 0, back.size(), back.data(), 0, nullptr, nullptr));
  const bool right = back[0] == pattern && back[1023] == pattern && std::memcmp(&back[1024], &host[1024], 3072) == 0;
  std::printf("contents %d\n", static_cast<int>(right));
  const size_t origin[3] = {0, 0, 0};
  const size_t region[3] = {16, 4, 2};
  std::printf("read rect %d\n", clEnqueueReadBufferRect(queue, b, CL_TRUE, origin, origin, region, 32, 0, 32, 0,
                                                        back.data(), 0, nullptr, nullptr));
  auto* mapped = static_cast<unsigned char*>(
      clEnqueueMapBuffer(queue, b, CL_TRUE, CL_MAP_READ, 512, 256, 0, nullptr, nullptr, &status));
  std::printf("map %d contents %d\n", status, static_cast<int>(mapped != nullptr && mapped[0] == pattern));
  std::printf("unmap %d\n", clEnqueueUnmapMemObject(queue, b, mapped, 0, nullptr, nullptr));
  std::printf("map refused %d\n", static_cast<int>(clEnqueueMapBuffer(queue, b, CL_TRUE, CL_MAP_READ, 0, 1U << 20, 0,
                                                                      nullptr, nullptr, nullptr) == nullptr));
  clFinish(queue);
  clReleaseMemObject(a);
  clReleaseMemObject(b);
}

void print_references(const char* what, cl_mem memory) {
  cl_uint references = 0;
  const cl_int status = clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof(references), &references, nullptr);
  std::printf("%s: status %d references %u\n", what, status, references);
}

void CL_CALLBACK on_destroy(cl_mem /*memory*/, void* data) {
  std::printf("destroyed %s\n", static_cast<const char*>(data));
}

void run_memory(const World& world) {
  cl_int status = 1;
  cl_mem buffer = clCreateBuffer(world.context, CL_MEM_READ_WRITE, 4096, nullptr, &status);
  std::printf("buffer %d\n", status);
  print_references("buffer", buffer);
  std::printf("callbacks %d %d %d\n", clSetMemObjectDestructorCallback(buffer, on_destroy, const_cast<char*>("first")),
              clSetMemObjectDestructorCallback(buffer, on_destroy, const_cast<char*>("second")),
              clSetMemObjectDestructorCallback(buffer, nullptr, nullptr));
  std::printf("retain %d\n", clRetainMemObject(buffer));
  print_references("retained", buffer);
  const cl_buffer_region region = {0, 2048};
  cl_mem part = clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
  std::printf("part %d\n", status);
  print_references("with a part", buffer);
  std::printf("release %d\n", clReleaseMemObject(buffer));
  std::printf("release %d\n", clReleaseMemObject(buffer));
  std::printf("the part is there\n");
  std::printf("release part %d\n", clReleaseMemObject(part));
  std::printf("no bytes %d", static_cast<int>(clCreateBuffer(world.context, 0, 0, nullptr, &status) == nullptr));
  std::printf(" status %d\n", status);
  std::printf("no status %d\n", static_cast<int>(clCreateBuffer(nullptr, 0, 1, nullptr, nullptr) == nullptr));
  std::printf("no object %d %d\n", clRetainMemObject(nullptr), clReleaseMemObject(nullptr));
  std::printf("wait for nothing %d, finish nothing %d\n", clWaitForEvents(0, nullptr), clFinish(nullptr));
  void* shared = clSVMAlloc(world.context, CL_MEM_READ_WRITE, 1024, 0);
  std::printf("shared %d, none %d\n", static_cast<int>(shared != nullptr),
              static_cast<int>(clSVMAlloc(world.context, CL_MEM_READ_WRITE, 0, 0) == nullptr));
  clSVMFree(world.context, shared);
  clSVMFree(world.context, nullptr);
}

cl_command_queue make_queue(const World& world, const cl_queue_properties* properties, const char* what) {
  cl_int status = 1;
  cl_command_queue queue = clCreateCommandQueueWithProperties(world.context, world.device, properties, &status);
  std::printf("%s: create %d\n", what, status);
  return queue;
}

void run_queues(const World& world) {
  cl_int status = 1;
  cl_command_queue plain = clCreateCommandQueue(world.context, world.device, 0, &status);
  std::printf("plain: create %d\n", status);
  print_queue("plain", plain);
  run_kernels(world, plain, "plain");
  run_copies(world, plain);

  cl_command_queue timed = clCreateCommandQueue(world.context, world.device, CL_QUEUE_PROFILING_ENABLE, &status);
  print_queue("timed", timed);
  run_kernels(world, timed, "timed");

  cl_command_queue bare = make_queue(world, nullptr, "bare");
  print_queue("bare", bare);
  const cl_queue_properties empty[] = {0};
  cl_command_queue none = make_queue(world, empty, "empty list");
  print_queue("empty list", none);
  const cl_queue_properties order[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  cl_command_queue ordered = make_queue(world, order, "out of order");
  print_queue("out of order", ordered);
  run_kernels(world, ordered, "out of order");
  const cl_queue_properties wrong[] = {0x7777, 1, 0};
  std::printf("wrong list refused %d\n", static_cast<int>(make_queue(world, wrong, "wrong list") == nullptr));
  std::printf("retain %d\n", clRetainCommandQueue(ordered));
  std::printf("release %d\n", clReleaseCommandQueue(ordered));
  print_queue("still there", ordered);
  for (cl_command_queue queue : {plain, timed, bare, none, ordered}) {
    std::printf("release %d\n", clReleaseCommandQueue(queue));
  }
}

}  // namespace

int main() {
  World world;
  cl_int status = CL_SUCCESS;
  if (clGetPlatformIDs(1, &world.platform, nullptr) != CL_SUCCESS ||
      clGetDeviceIDs(world.platform, CL_DEVICE_TYPE_ALL, 1, &world.device, nullptr) != CL_SUCCESS) {
    return 77;
  }
  world.context = clCreateContext(nullptr, 1, &world.device, nullptr, nullptr, &status);
  const char* source = "kernel void work(global int* data) { data[get_global_id(0)] = get_global_id(0); }";
  world.program = clCreateProgramWithSource(world.context, 1, &source, nullptr, &status);
  clBuildProgram(world.program, 1, &world.device, "", nullptr, nullptr);
  run_queues(world);
  run_memory(world);
  for (int i = 0; i < 30000 && callbacks < callbacks_asked; ++i) {
    usleep(1000);  // a driver may call back after waiters of the event have resumed
  }
  std::printf("callbacks %d of %d\n", callbacks.load(), callbacks_asked);
  clReleaseProgram(world.program);
  clReleaseContext(world.context);
  return 0;
}
