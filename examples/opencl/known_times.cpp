// Launches three kernels at random for some time, measures each of them by its own profiling events, and prints the
// true count and GPU time: "NAME COUNT NS". test/bench/estimates.py compares them with the estimates of gpuprof.
//
//   bench_opencl_known_times [--seconds N] [--phases 2]
//
// With --phases 2, the program changes between phases of 50 to 400 ms that launch different kernels.
#include <array>
#include <chrono>
#include <random>

#include "setup.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kSource =
    "#define LOOP(NAME) kernel void NAME(global float* out, int steps) {"
    "  float x = get_global_id(0);"
    "  for (int i = 0; i < steps; i++) x = x * 1.0001f + 0.5f;"
    "  out[get_global_id(0)] = x; }\n"
    "LOOP(brief) LOOP(middle) LOOP(long_one)";
constexpr std::array<const char*, 3> kNames = {"brief", "middle", "long_one"};
constexpr std::array<cl_int, 3> kSteps = {2000, 8000, 30000};
constexpr size_t kBatch = 20;  // number of launches between two calls of clFinish

struct Truth {
  unsigned long count = 0;
  unsigned long ns = 0;
};

struct Launched {
  size_t kernel = 0;
  cl_event event = nullptr;
};

unsigned long time_of(cl_event event, cl_profiling_info which) {
  cl_ulong ns = 0;
  check(clGetEventProfilingInfo(event, which, sizeof(ns), &ns, nullptr), "clGetEventProfilingInfo");
  return ns;
}

void finish(const Session& session, std::vector<Launched>& launched, std::array<Truth, 3>& truth) {
  check(clFinish(session.queue), "clFinish");
  for (const Launched& one : launched) {
    ++truth[one.kernel].count;
    truth[one.kernel].ns +=
        time_of(one.event, CL_PROFILING_COMMAND_END) - time_of(one.event, CL_PROFILING_COMMAND_START);
    check(clReleaseEvent(one.event), "clReleaseEvent");
  }
  launched.clear();
}

// Returns the kernel to launch next. Phase 0 is also that of a program without phases.
size_t choose(unsigned phase, double chance) {
  if (phase == 1) {
    return chance < 0.8 ? 0 : 1;
  }
  if (phase == 2) {
    return chance < 0.5 ? 1 : 2;
  }
  return chance < 0.001 ? 2 : chance < 0.1 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto end = Clock::now() + std::chrono::seconds(option(argc, argv, "--seconds", 10));
  const bool has_phases = option(argc, argv, "--phases", 1) > 1;
  Session session = open_session(kSource);
  cl_int status = CL_SUCCESS;
  check(clReleaseCommandQueue(session.queue), "clReleaseCommandQueue");
  session.queue = clCreateCommandQueue(session.context, session.device, CL_QUEUE_PROFILING_ENABLE, &status);
  check(status, "clCreateCommandQueue");
  cl_mem out = clCreateBuffer(session.context, CL_MEM_READ_WRITE, sizeof(float), nullptr, &status);
  check(status, "clCreateBuffer");
  std::array<cl_kernel, 3> kernels = {};
  for (size_t i = 0; i < kernels.size(); ++i) {
    kernels[i] = make_kernel(session, kNames[i]);
    check(clSetKernelArg(kernels[i], 0, sizeof(cl_mem), &out), "clSetKernelArg");
    check(clSetKernelArg(kernels[i], 1, sizeof(cl_int), &kSteps[i]), "clSetKernelArg");
  }

  std::mt19937_64 random(std::random_device{}());
  std::array<Truth, 3> truth;
  std::vector<Launched> launched;
  unsigned phase = 0;
  auto phase_end = Clock::now();
  const size_t items = 1;
  for (auto now = phase_end; now < end; now = Clock::now()) {
    if (has_phases && now >= phase_end) {
      phase = static_cast<unsigned>(random() % 3);
      phase_end = now + std::chrono::milliseconds(50 + random() % 350);
    }
    const size_t kernel = choose(phase, std::uniform_real_distribution(0.0, 1.0)(random));
    cl_event event = nullptr;
    check(clEnqueueNDRangeKernel(session.queue, kernels[kernel], 1, nullptr, &items, &items, 0, nullptr, &event),
          "clEnqueueNDRangeKernel");
    launched.push_back({kernel, event});
    if (launched.size() == kBatch) {
      finish(session, launched, truth);
    }
  }
  finish(session, launched, truth);
  for (size_t i = 0; i < kernels.size(); ++i) {
    std::printf("%s %lu %lu\n", kNames[i], truth[i].count, truth[i].ns);
    check(clReleaseKernel(kernels[i]), "clReleaseKernel");
  }
  check(clReleaseMemObject(out), "clReleaseMemObject");
  close_session(session);
  return 0;
}
