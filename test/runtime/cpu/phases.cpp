// An OpenCL program whose device waits for known reasons: between two kernels it computes, sleeps, and waits for a
// lock. Prints the ns of each reason, and of all together. The time of computing is CPU time.
#include <chrono>
#include <mutex>
#include <semaphore>
#include <thread>

#include "setup.h"
#include "spent.h"

namespace {

using std::chrono::milliseconds;

[[gnu::noinline]] double compute_in_a(milliseconds time) {
  const Timed timed("compute_in_a", CLOCK_THREAD_CPUTIME_ID);
  return compute_for(time);
}

[[gnu::noinline]] void sleep_in_b(milliseconds time) {
  const TimedBlocked timed("sleep_in_b");
  std::this_thread::sleep_for(time);
}

std::mutex lock;
std::binary_semaphore wanted(0);
std::binary_semaphore held(0);
constexpr milliseconds kHeld(100);

void hold_lock(long rounds) {
  for (long i = 0; i < rounds; ++i) {
    wanted.acquire();
    const std::lock_guard guard(lock);
    held.release();
    std::this_thread::sleep_for(kHeld);
  }
}

[[gnu::noinline]] void wait_for_lock() {
  const TimedBlocked timed("wait_for_lock");
  wanted.release();
  held.acquire();
  const std::lock_guard guard(lock);
}

void run(const Session& session, cl_kernel kernel) {
  const size_t items = 1;
  check(clEnqueueNDRangeKernel(session.queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  check(clFinish(session.queue), "clFinish");
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = option(argc, argv, "--rounds", 8);
  std::thread holder(hold_lock, rounds);
  const Session session = open_session("kernel void empty() {}");
  cl_kernel kernel = make_kernel(session, "empty");
  run(session, kernel);  // the driver compiles the kernel at its first launch
  double value = 0;
  for (long i = 0; i < rounds; ++i) {
    {
      const Timed timed("whole");
      value += compute_in_a(milliseconds(300));
      sleep_in_b(milliseconds(200));
      wait_for_lock();
    }
    run(session, kernel);
  }
  holder.join();
  print_spent();
  check(clReleaseKernel(kernel), "clReleaseKernel");
  close_session(session);
  return value > 0 ? 0 : 1;
}
