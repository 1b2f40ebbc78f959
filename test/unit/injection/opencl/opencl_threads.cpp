// Runs threads that launch on separate queues and release their events concurrently. With --leave the program ends
// while its kernels run. With --memory each thread also creates and releases LAUNCHES buffers of 100 bytes. With
// --main-ends the main thread ends first, and the last thread ends the process.
// layer_test.cpp, opencl_calls_test.cpp and programs_test.py run it.
//
//   opencl_threads THREADS LAUNCHES STEPS [--leave|--memory|--main-ends]
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr const char* kSource = R"(
kernel void spin(global float* data, int steps) {
  float value = get_global_id(0);
  for (int i = 0; i < steps; ++i) {
    value = value * 0.999f + sqrt(value + 1.0f);
  }
  data[get_global_id(0)] = value;
}
)";

struct Work {
  cl_context context;
  cl_device_id device;
  cl_program program;
  int launches;
  cl_int steps;
  bool leave;
  bool memory;
};

// Creates `launches` buffers. Up to 50 of them exist at a time. Each is also retained and released once.
void allocate_all(const Work& work) {
  std::vector<cl_mem> held;
  const auto release_held = [&] {
    for (cl_mem buffer : held) {
      clReleaseMemObject(buffer);
    }
    held.clear();
  };
  for (int i = 0; i < work.launches; ++i) {
    cl_int status = CL_SUCCESS;
    held.push_back(clCreateBuffer(work.context, CL_MEM_READ_WRITE, 100, nullptr, &status));
    if (clRetainMemObject(held.back()) != CL_SUCCESS || clReleaseMemObject(held.back()) != CL_SUCCESS) {
      std::exit(4);
    }
    if (held.size() == 50) {
      release_held();
    }
  }
  release_held();
}

void launch_all(const Work& work) {
  cl_int status = CL_SUCCESS;
  cl_command_queue queue = clCreateCommandQueue(work.context, work.device, 0, &status);
  cl_kernel kernel = clCreateKernel(work.program, "spin", &status);
  cl_mem data = clCreateBuffer(work.context, CL_MEM_READ_WRITE, 64 * sizeof(float), nullptr, &status);
  clSetKernelArg(kernel, 0, sizeof(void*), &data);
  clSetKernelArg(kernel, 1, sizeof(work.steps), &work.steps);
  const size_t items = 64;
  cl_event previous = nullptr;
  for (int i = 0; i < work.launches; ++i) {
    cl_event event = nullptr;
    const cl_uint waits = previous == nullptr ? 0 : 1;
    if (clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &items, waits, waits != 0 ? &previous : nullptr,
                               &event) != CL_SUCCESS) {
      std::exit(3);
    }
    if (previous != nullptr) {
      clReleaseEvent(previous);
    }
    previous = event;
  }
  if (previous != nullptr) {
    clReleaseEvent(previous);
  }
  if (work.memory) {
    allocate_all(work);
  }
  if (work.leave) {
    clFlush(queue);
    clReleaseMemObject(data);  // the driver destroys it after the kernels that use it
    return;
  }
  clFinish(queue);
  clReleaseMemObject(data);
  clReleaseKernel(kernel);
  clReleaseCommandQueue(queue);
}

// Runs the threads after the main thread has become a zombie.
[[noreturn]] void end_main_thread(const Work& work, long count) {
  static const Work shared = work;
  std::thread([count] {
    const auto main_has_ended = [] {
      std::ifstream status("/proc/self/stat");
      std::string text;
      std::getline(status, text);
      return text.find(") Z ") != std::string::npos;
    };
    while (!main_has_ended()) {
      std::this_thread::yield();
    }
    std::vector<std::thread> threads;
    for (long i = 0; i < count; ++i) {
      threads.emplace_back([] { launch_all(shared); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    std::exit(5);
  }).detach();
  pthread_exit(nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    return 2;
  }
  Work work = {};
  cl_platform_id platform = nullptr;
  cl_int status = CL_SUCCESS;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &work.device, nullptr) != CL_SUCCESS) {
    return 77;
  }
  work.context = clCreateContext(nullptr, 1, &work.device, nullptr, nullptr, &status);
  const char* source = kSource;
  work.program = clCreateProgramWithSource(work.context, 1, &source, nullptr, &status);
  clBuildProgram(work.program, 1, &work.device, "", nullptr, nullptr);
  work.launches = static_cast<int>(std::strtol(argv[2], nullptr, 10));
  work.steps = static_cast<cl_int>(std::strtol(argv[3], nullptr, 10));
  work.leave = argc > 4 && std::strcmp(argv[4], "--leave") == 0;
  work.memory = argc > 4 && std::strcmp(argv[4], "--memory") == 0;
  if (argc > 4 && std::strcmp(argv[4], "--main-ends") == 0) {
    end_main_thread(work, std::strtol(argv[1], nullptr, 10));
  }
  std::vector<std::thread> threads;
  for (long i = std::strtol(argv[1], nullptr, 10); i > 0; --i) {
    threads.emplace_back([&work] { launch_all(work); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return 5;  // the layer must preserve this exit status
}
