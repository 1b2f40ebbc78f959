// What the OpenCL examples need before their first launch: a device, a context, a queue and a program.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

inline void check(cl_int status, const char* what) {
  if (status != CL_SUCCESS) {
    std::fprintf(stderr, "%s: OpenCL error %d\n", what, status);
    std::exit(1);
  }
}

struct Session {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_program program = nullptr;
};

inline cl_device_id first_device() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) {
    std::fprintf(stderr, "no OpenCL platform (on Debian: apt install pocl-opencl-icd runs OpenCL on the CPU)\n");
    std::exit(1);
  }
  std::vector<cl_platform_id> platforms(count);
  check(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  for (cl_platform_id platform : platforms) {
    cl_device_id device = nullptr;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS) {
      return device;
    }
  }
  std::fprintf(stderr, "no OpenCL device\n");
  std::exit(1);
}

inline Session open_session(const char* source) {
  Session session;
  cl_int status = CL_SUCCESS;
  session.device = first_device();
  session.context = clCreateContext(nullptr, 1, &session.device, nullptr, nullptr, &status);
  check(status, "clCreateContext");
  session.queue = clCreateCommandQueue(session.context, session.device, 0, &status);
  check(status, "clCreateCommandQueue");
  session.program = clCreateProgramWithSource(session.context, 1, &source, nullptr, &status);
  check(status, "clCreateProgramWithSource");
  check(clBuildProgram(session.program, 1, &session.device, "", nullptr, nullptr), "clBuildProgram");
  return session;
}

inline cl_kernel make_kernel(const Session& session, const char* name) {
  cl_int status = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(session.program, name, &status);
  check(status, name);
  return kernel;
}

inline void close_session(const Session& session) {
  check(clReleaseProgram(session.program), "clReleaseProgram");
  check(clReleaseCommandQueue(session.queue), "clReleaseCommandQueue");
  check(clReleaseContext(session.context), "clReleaseContext");
}

// Returns the number after an option such as --launches, or `otherwise` if the option is missing. Exits if the number
// is not positive.
inline long option(int argc, char** argv, const std::string& name, long otherwise) {
  long value = otherwise;
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == name && i + 1 < argc) {
      value = std::strtol(argv[i + 1], nullptr, 10);
    }
  }
  if (value <= 0) {
    std::fprintf(stderr, "%s wants a positive number\n", name.c_str());
    std::exit(2);
  }
  return value;
}
