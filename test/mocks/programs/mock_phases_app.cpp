// A CUDA program on the mock driver whose device waits for known reasons: between two kernels it computes, sleeps, and
// waits for a lock that another thread holds. Prints the ns of each reason, and of all together.
#include <cuda.h>
#include <pthread.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <semaphore>
#include <thread>

#include "check.h"
#include "spent.h"

namespace {

using std::chrono::milliseconds;

constexpr int kRounds = 10;
constexpr milliseconds kTime(40);

[[gnu::noinline]] double compute_in_a() {
  const Timed timed("compute_in_a", CLOCK_THREAD_CPUTIME_ID);
  return compute_for(kTime);
}

[[gnu::noinline]] void sleep_in_b() {
  const TimedBlocked timed("sleep_in_b");
  std::this_thread::sleep_for(kTime);
}

std::mutex lock;
std::binary_semaphore wanted(0);
std::binary_semaphore held(0);

void hold_lock() {
  pthread_setname_np(pthread_self(), "lock holder");
  for (int i = 0; i < kRounds; ++i) {
    wanted.acquire();
    const std::lock_guard guard(lock);
    held.release();
    std::this_thread::sleep_for(kTime);
  }
}

[[gnu::noinline]] void wait_for_lock() {
  const TimedBlocked timed("wait_for_lock");
  wanted.release();
  held.acquire();
  const std::lock_guard guard(lock);
}

void run(CUfunction kernel) {
  CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
  CHECK(cuCtxSynchronize());
}

}  // namespace

int main() {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  gpuprof::mock_app::open_context();
  CHECK(cuModuleLoadData(&module, "scale 10000\n"));
  CHECK(cuModuleGetFunction(&kernel, module, "scale"));
  std::thread holder(hold_lock);
  run(kernel);
  std::this_thread::sleep_for(kTime);  // gpuprof watches a thread from its first launch on
  run(kernel);
  double value = 0;
  for (int i = 0; i < kRounds; ++i) {
    {
      const Timed timed("whole");
      value += compute_in_a();
      sleep_in_b();
      wait_for_lock();
    }
    run(kernel);
  }
  holder.join();
  print_spent();
  return value > 0 ? 0 : 1;
}
