// Measures the cost of a launch: enqueues an empty kernel in a loop and prints the nanoseconds per launch, including
// the device's work. The difference between a native and a recorded run is the profiler's overhead.
//
//   bench_opencl_launch_loop [--launches N] [--progress PARTS]
//
// --progress prints a line at the end of each of so many parts of the launches: "1/10" after the first tenth.
#include <chrono>

#include "setup.h"

namespace {

// Number of commands between two calls of clFinish. It is large enough to hide the cost of clFinish, and small enough
// for any driver's queue.
constexpr long kBatch = 500;

void launch_batch(const Session& session, cl_kernel kernel, long launches) {
  const size_t items = 1;
  for (long i = 0; i < launches; ++i) {
    check(clEnqueueNDRangeKernel(session.queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  }
  check(clFinish(session.queue), "clFinish");
}

}  // namespace

int main(int argc, char** argv) {
  const long launches = option(argc, argv, "--launches", 20000);
  const long parts = option(argc, argv, "--progress", 1);
  const Session session = open_session("kernel void empty() {}");
  cl_kernel kernel = make_kernel(session, "empty");
  launch_batch(session, kernel, kBatch);  // the driver compiles the kernel at its first launch

  const auto begin = std::chrono::steady_clock::now();
  long part = 1;
  for (long left = launches; left > 0; left -= kBatch) {
    launch_batch(session, kernel, left < kBatch ? left : kBatch);
    for (; part < parts && launches - left + kBatch >= launches / parts * part; ++part) {
      std::printf("%ld/%ld\n", part, parts);
      std::fflush(stdout);
    }
  }
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  std::printf("%.0f ns per launch, %ld launches\n", spent.count() / static_cast<double>(launches), launches + kBatch);
  check(clReleaseKernel(kernel), "clReleaseKernel");
  close_session(session);
  return 0;
}
