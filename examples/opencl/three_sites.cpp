// Three call sites and two kernels. `heavy` does four times the work of `light`, so the profile of this program is
// known beforehand: assemble() and postprocess() launch `light`, solve() launches `heavy` as often as each of them,
// and two thirds of the GPU time belong to solve().
//
//   example_opencl [--launches N] [--steps N]
#include "setup.h"

namespace {

// Each step needs the result of the one before, so that no compiler shortens a run; `heavy` makes four runs that do
// not depend on each other, as the work-items of `light` do not.
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

// One work-group, so that a CPU device uses one core and the times do not depend on how many are free. Kernels take
// 0.1 and 0.4 ms on a CPU: much longer than a launch, much shorter than the time slice of a busy machine.
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

void set_arguments(cl_kernel kernel, cl_mem data, cl_int steps) {
  check(clSetKernelArg(kernel, 0, sizeof(void*), &data), "clSetKernelArg");
  check(clSetKernelArg(kernel, 1, sizeof(steps), &steps), "clSetKernelArg");
}

}  // namespace

int main(int argc, char** argv) {
  const long launches = option(argc, argv, "--launches", 500);
  const long steps = option(argc, argv, "--steps", 300);
  const Session session = open_session(kSource);
  cl_kernel light = make_kernel(session, "light");
  cl_kernel heavy = make_kernel(session, "heavy");
  cl_int status = CL_SUCCESS;
  std::vector<float> ones(kWorkItems, 1.0F);
  cl_mem data = clCreateBuffer(session.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, ones.size() * sizeof(float),
                               ones.data(), &status);
  check(status, "clCreateBuffer");
  set_arguments(light, data, static_cast<cl_int>(steps));
  set_arguments(heavy, data, static_cast<cl_int>(steps));

  for (long i = 0; i < launches; ++i) {
    assemble(session, light);
    solve(session, heavy);
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
