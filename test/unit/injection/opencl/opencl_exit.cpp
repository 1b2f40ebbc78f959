// Launches kernels in main() and later: in exit handlers, in the destructor of a static object, and in a function that
// runs when the program is unloaded. Each place has its own kernel and number of launches. With an argument, the last
// place ends the process by _exit() while its launch runs.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace {

cl_context context = nullptr;
cl_command_queue queue = nullptr;
cl_program program = nullptr;
cl_mem data = nullptr;
bool ends_at_once = false;

void require(bool good, const char* what) {
  if (!good) {
    std::fprintf(stderr, "opencl_exit: %s failed\n", what);
    _exit(1);
  }
}

void enqueue(const char* name, int launches) {
  cl_kernel kernel = clCreateKernel(program, name, nullptr);
  require(clSetKernelArg(kernel, 0, sizeof(cl_mem), &data) == CL_SUCCESS, "clSetKernelArg");
  const size_t one = 1;
  for (int i = 0; i < launches; ++i) {
    require(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr) == CL_SUCCESS, name);
  }
}

void launch(const char* name, int launches) {
  enqueue(name, launches);
  require(clFinish(queue) == CL_SUCCESS, "clFinish");
}

void set(cl_int value) {
  const cl_int values[2] = {value, value};
  require(clEnqueueWriteBuffer(queue, data, CL_TRUE, 0, sizeof(values), values, 0, nullptr, nullptr) == CL_SUCCESS,
          "clEnqueueWriteBuffer");
}

struct Static {
  ~Static() { launch("in_destructor", 30); }
} const object;

__attribute__((destructor)) void unloaded() {
  if (!ends_at_once) {
    launch("at_unload", 40);
    return;
  }
  enqueue("endless", 1);
  require(clFlush(queue) == CL_SUCCESS, "clFlush");
  _exit(0);
}

}  // namespace

int main(int argc, char** /*argv*/) {
  ends_at_once = argc > 1;
  std::atexit([] { launch("in_early_handler", 20); });
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  require(clGetPlatformIDs(1, &platform, nullptr) == CL_SUCCESS &&
              clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS,
          "finding a device");
  context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  queue = clCreateCommandQueue(context, device, 0, nullptr);
  const char* source =
      "kernel void in_main(global int* data) { data[0] += 1; }"
      "kernel void in_late_handler(global int* data) { data[0] += 2; }"
      "kernel void in_early_handler(global int* data) { data[0] += 3; }"
      "kernel void in_destructor(global int* data) { data[0] += 4; }"
      "kernel void at_unload(global int* data) { data[0] += 5; }"
      "kernel void endless(global int* data) { while (data[1] == 0) data[0] += 6; }";
  program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
  require(clBuildProgram(program, 1, &device, "", nullptr, nullptr) == CL_SUCCESS, "clBuildProgram");
  data = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, nullptr, nullptr);
  // PoCL compiles a kernel at its first launch. It cannot do so in a destructor.
  set(1);
  for (const char* name : {"in_main", "in_late_handler", "in_early_handler", "in_destructor", "at_unload", "endless"}) {
    launch(name, 1);
  }
  set(0);
  std::atexit([] { launch("in_late_handler", 10); });
  launch("in_main", 5);
  return 0;
}
