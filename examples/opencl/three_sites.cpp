// Three call sites and two kernels. `heavy` does four times the work of `light`, so the profile of this program is
// known in advance. assemble() and postprocess() launch `light`; solve() launches `heavy` as often as each of them.
// So two thirds of the GPU time belong to solve().
//
//   example_opencl [--launches N] [--steps N] [--slow-site assemble|solve|postprocess] [--percent N]
//
// --slow-site plants a regression: launches of that function do N percent (default: 150) of their usual work.
#include <string>

#include "setup.h"

namespace {

// Each step depends on the previous one, so that no compiler can shorten the loop. `heavy` calls run() four times.
// These calls do not depend on each other, so a device can overlap them, as it overlaps work-items of `light`.
constexpr const char* kSource = R"(
float run(float value, int steps) {
  for (int i = 0; i < steps; ++i) {
    value = value * 0.999f + sqrt(value + 1.0f);
  }
  return value;
}
kernel void light(global float* data, int steps) {
  data[get_global_id(0)] = run(get_global_id(0), steps);
}
kernel void heavy(global float* data, int steps) {
  float sum = 0.0f;
  for (int i = 0; i < 4; ++i) {
    sum += run(get_global_id(0) + i, steps);
  }
  data[get_global_id(0)] = sum;
}
)";

// There is one work-group, so that a CPU device uses one core, and times do not depend on the number of free cores. On
// a CPU the kernels take 0.1 and 0.4 ms. This is much longer than a launch, and much shorter than a time slice.
constexpr size_t kWorkItems = 64;

[[gnu::noinline]] void assemble(const Session& session, cl_kernel light) {
  check(clEnqueueNDRangeKernel(session.queue, light, 1, nullptr, &kWorkItems, &kWorkItems, 0, nullptr, nullptr),
        "assemble");
}

[[gnu::noinline]] void solve(const Session& session, cl_kernel heavy) {
  check(clEnqueueNDRangeKernel(session.queue, heavy, 1, nullptr, &kWorkItems, &kWorkItems, 0, nullptr, nullptr),
        "solve");
}

[[gnu::noinline]] void postprocess(const Session& session, cl_kernel light) {
  check(clEnqueueNDRangeKernel(session.queue, light, 1, nullptr, &kWorkItems, &kWorkItems, 0, nullptr, nullptr),
        "postprocess");
}

void set_data(cl_kernel kernel, cl_mem data) {
  check(clSetKernelArg(kernel, 0, sizeof(void*), &data), "clSetKernelArg");
}

void set_steps(cl_kernel kernel, cl_int steps) {
  check(clSetKernelArg(kernel, 1, sizeof(steps), &steps), "clSetKernelArg");
}

struct Steps {
  cl_int assemble = 0;
  cl_int solve = 0;
  cl_int postprocess = 0;
};

Steps steps_of(int argc, char** argv) {
  const auto steps = static_cast<cl_int>(option(argc, argv, "--steps", 300));
  const auto slow = static_cast<cl_int>(steps * option(argc, argv, "--percent", 150) / 100);
  std::string site;
  for (int i = 1; i + 1 < argc; ++i) {
    site = argv[i] == std::string("--slow-site") ? argv[i + 1] : site;
  }
  return {site == "assemble" ? slow : steps, site == "solve" ? slow : steps, site == "postprocess" ? slow : steps};
}

}  // namespace

int main(int argc, char** argv) {
  const long launches = option(argc, argv, "--launches", 500);
  const Steps steps = steps_of(argc, argv);
  const Session session = open_session(kSource);
  cl_kernel light = make_kernel(session, "light");
  cl_kernel heavy = make_kernel(session, "heavy");
  cl_int status = CL_SUCCESS;
  std::vector<float> ones(kWorkItems, 1.0F);
  cl_mem data = clCreateBuffer(session.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, ones.size() * sizeof(float),
                               ones.data(), &status);
  check(status, "clCreateBuffer");
  set_data(light, data);
  set_data(heavy, data);

  for (long i = 0; i < launches; ++i) {
    set_steps(light, steps.assemble);
    assemble(session, light);
    set_steps(heavy, steps.solve);
    solve(session, heavy);
    set_steps(light, steps.postprocess);
    postprocess(session, light);
  }
  check(clFinish(session.queue), "clFinish");

  std::printf("expected assemble light %ld\n", launches);
  std::printf("expected solve heavy %ld\n", launches);
  std::printf("expected postprocess light %ld\n", launches);
  check(clReleaseMemObject(data), "clReleaseMemObject");
  check(clReleaseKernel(light), "clReleaseKernel");
  check(clReleaseKernel(heavy), "clReleaseKernel");
  close_session(session);
  return 0;
}
