// Returns from main() while its only launch is unfinished: the driver must still compile the kernel. With an argument,
// the kernel is compiled and running, and never ends.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <unistd.h>

#include <cstdio>

namespace {

void require(bool good, const char* what) {
  if (!good) {
    std::fprintf(stderr, "opencl_unfinished: %s failed\n", what);
    _exit(1);
  }
}

}  // namespace

int main(int argc, char** /*argv*/) {
  const bool endless = argc > 1;
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  require(clGetPlatformIDs(1, &platform, nullptr) == CL_SUCCESS &&
              clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS,
          "finding a device");
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, nullptr);
  const char* source = "kernel void spin(volatile global int* data) { while (data[0] == 0) data[1] += 1; }";
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
  require(clBuildProgram(program, 1, &device, "", nullptr, nullptr) == CL_SUCCESS, "clBuildProgram");
  cl_int values[2] = {1, 0};
  cl_mem data = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(values), values, nullptr);
  cl_kernel kernel = clCreateKernel(program, "spin", nullptr);
  require(clSetKernelArg(kernel, 0, sizeof(cl_mem), &data) == CL_SUCCESS, "clSetKernelArg");
  const size_t one = 1;
  const auto launch = [&] {
    require(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr) == CL_SUCCESS &&
                clFlush(queue) == CL_SUCCESS,
            "launch");
  };
  launch();
  if (endless) {
    values[0] = 0;
    require(clEnqueueWriteBuffer(queue, data, CL_TRUE, 0, sizeof(values), values, 0, nullptr, nullptr) == CL_SUCCESS,
            "clEnqueueWriteBuffer");
    launch();
  }
  std::printf("returned\n");  // stays in the buffer of stdout until the process exits
  return 0;
}
