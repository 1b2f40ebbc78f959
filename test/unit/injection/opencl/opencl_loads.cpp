// Loads OpenCL by dlopen() and unloads it again, several times: first only to ask for platforms, and then once for each
// path on the command line, each time for 20 launches of a kernel that is named after the load.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr int kLaunches = 20;

void* library = nullptr;

void require(bool good, const char* what) {
  if (!good) {
    std::fprintf(stderr, "opencl_loads: %s failed\n", what);
    std::exit(1);
  }
}

#define FIND(name) reinterpret_cast<decltype(&(name))>(dlsym(library, #name))

void load(const char* path) {
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  require(library != nullptr, path);
}

cl_platform_id first_platform() {
  cl_platform_id platform = nullptr;
  require(FIND(clGetPlatformIDs)(1, &platform, nullptr) == CL_SUCCESS, "clGetPlatformIDs");
  return platform;
}

void launch(const std::string& name) {
  cl_platform_id platform = first_platform();
  cl_device_id device = nullptr;
  require(FIND(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS, "clGetDeviceIDs");
  cl_context context = FIND(clCreateContext)(nullptr, 1, &device, nullptr, nullptr, nullptr);
  cl_command_queue queue = FIND(clCreateCommandQueue)(context, device, 0, nullptr);
  const std::string text = "kernel void " + name + "(global int* data) { data[0] += 1; }";
  const char* source = text.c_str();
  cl_program program = FIND(clCreateProgramWithSource)(context, 1, &source, nullptr, nullptr);
  require(FIND(clBuildProgram)(program, 1, &device, "", nullptr, nullptr) == CL_SUCCESS, "clBuildProgram");
  cl_kernel kernel = FIND(clCreateKernel)(program, name.c_str(), nullptr);
  cl_mem data = FIND(clCreateBuffer)(context, CL_MEM_READ_WRITE, 64, nullptr, nullptr);
  require(FIND(clSetKernelArg)(kernel, 0, sizeof(cl_mem), &data) == CL_SUCCESS, "clSetKernelArg");
  const auto enqueue = FIND(clEnqueueNDRangeKernel);
  const size_t one = 1;
  for (int i = 0; i < kLaunches; ++i) {
    require(enqueue(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr) == CL_SUCCESS, "a launch");
  }
  require(FIND(clFinish)(queue) == CL_SUCCESS, "clFinish");
}

}  // namespace

int main(int argc, char** argv) {
  require(argc > 1, "reading the arguments");
  load(argv[1]);
  first_platform();
  dlclose(library);
  for (int i = 1; i < argc; ++i) {
    load(argv[i]);
    launch("load" + std::to_string(i));
    dlclose(library);
  }
  return 0;
}
