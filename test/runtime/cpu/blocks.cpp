// An OpenCL program whose launching thread is blocked for known reasons between two kernels: it sleeps, waits for a
// lock that another thread holds, reads from a slow pipe, reads a file, and touches a mapping of a file that is not in
// memory. Prints the ns of each reason, without waits for a processor, and of all together. With --waves N, it instead
// starts 100 threads N times. Each of them launches a kernel, sleeps, and launches another one. With --brief N, N
// threads come first, one after another, that end after one launch.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <random>
#include <semaphore>
#include <string_view>
#include <thread>
#include <vector>

#include "setup.h"
#include "spent.h"

namespace {

using std::chrono::milliseconds;

constexpr size_t kPage = 4096;
constexpr size_t kPages = 16384;
constexpr int kPagesPerRound = 400;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

[[gnu::noinline]] double compute_in_a() {
  const Timed timed("compute_in_a", CLOCK_THREAD_CPUTIME_ID);
  return compute_for(milliseconds(100));
}

[[gnu::noinline]] void sleep_in_b() {
  const TimedBlocked timed("sleep_in_b");
  std::this_thread::sleep_for(milliseconds(100));
}

std::mutex lock;
std::binary_semaphore lock_wanted(0);
std::binary_semaphore lock_held(0);
std::binary_semaphore data_wanted(0);
int pipe_ends[2];

void hold_lock(long rounds) {
  pthread_setname_np(pthread_self(), "lock holder");
  for (long i = 0; i < rounds; ++i) {
    lock_wanted.acquire();
    const std::lock_guard guard(lock);
    lock_held.release();
    std::this_thread::sleep_for(milliseconds(100));
  }
}

void write_slowly(long rounds) {
  for (long i = 0; i < rounds; ++i) {
    data_wanted.acquire();
    std::this_thread::sleep_for(milliseconds(100));
    if (write(pipe_ends[1], "x", 1) != 1) {
      fail("write");
    }
  }
}

[[gnu::noinline]] void wait_for_lock() {
  const TimedBlocked timed("wait_for_lock");
  lock_wanted.release();
  lock_held.acquire();
  const std::lock_guard guard(lock);
}

[[gnu::noinline]] void read_from_pipe() {
  const TimedBlocked timed("read_from_pipe");
  char byte = 0;
  data_wanted.release();
  if (read(pipe_ends[0], &byte, 1) != 1) {
    fail("read");
  }
}

// Its pages are never in memory when a function begins to read them.
class ColdFile {
 public:
  ColdFile() {
    char name[] = "cold.XXXXXX";
    file_ = mkstemp(name);
    direct_ = open(name, O_RDONLY | O_DIRECT);
    unlink(name);
    const std::vector<char> zeros(kPage * 256);
    for (size_t i = 0; file_ >= 0 && i < kPages / 256; ++i) {
      if (write(file_, zeros.data(), zeros.size()) != static_cast<ssize_t>(zeros.size())) {
        fail("write");
      }
    }
    if (file_ < 0 || direct_ < 0 || fsync(file_) != 0 || posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED) != 0) {
      fail("cold file");
    }
    void* memory = mmap(nullptr, kPages * kPage, PROT_READ, MAP_SHARED, file_, 0);
    if (memory == MAP_FAILED || madvise(memory, kPages * kPage, MADV_RANDOM) != 0) {
      fail("mmap");
    }
    memory_ = static_cast<volatile char*>(memory);
  }
  ~ColdFile() {
    close(file_);
    close(direct_);
  }
  ColdFile(const ColdFile&) = delete;
  ColdFile& operator=(const ColdFile&) = delete;

  [[gnu::noinline]] void read_cold_file() {
    const TimedBlocked timed("read_cold_file");
    alignas(4096) static char page[kPage];
    for (int i = 0; i < kPagesPerRound; ++i) {
      if (pread(direct_, page, kPage, static_cast<off_t>(page_(random_) * kPage)) != static_cast<ssize_t>(kPage)) {
        fail("pread");
      }
    }
  }

  [[gnu::noinline]] char touch_cold_mapping() {
    const TimedBlocked timed("touch_cold_mapping");
    char sum = 0;
    for (int i = 0; i < kPagesPerRound && next_ < kPages; ++i) {
      sum = static_cast<char>(sum + memory_[next_ * kPage]);
      next_ += 8;
    }
    return sum;
  }

 private:
  int file_ = -1;
  int direct_ = -1;
  volatile char* memory_ = nullptr;
  size_t next_ = 0;
  std::mt19937 random_{20261129};
  std::uniform_int_distribution<size_t> page_{0, kPages - 1};
};

void run(const Session& session, cl_kernel kernel) {
  const size_t items = 1;
  check(clEnqueueNDRangeKernel(session.queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  check(clFinish(session.queue), "clFinish");
}

void run_brief_threads(const Session& session, cl_kernel kernel, long threads) {
  for (long i = 0; i < threads; ++i) {
    std::thread([&session, kernel] { run(session, kernel); }).join();
  }
}

void run_waves(const Session& session, cl_kernel kernel, long waves) {
  constexpr int kThreads = 100;
  for (long wave = 0; wave < waves; ++wave) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&session, kernel] {
        run(session, kernel);
        std::this_thread::sleep_for(milliseconds(200));
        run(session, kernel);
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](const char* name) {
    const bool is_given = std::find(argv, argv + argc, std::string_view(name)) != argv + argc;
    return is_given ? option(argc, argv, name, 1) : 0;
  };
  const long brief = number("--brief");
  const long waves = number("--waves");
  const long rounds = waves > 0 ? 0 : option(argc, argv, "--rounds", 5);
  if (pipe(pipe_ends) != 0) {
    fail("pipe");
  }
  ColdFile file;
  std::thread holder(hold_lock, rounds);
  std::thread writer(write_slowly, rounds);
  const Session session = open_session("kernel void empty() {}");
  cl_kernel kernel = make_kernel(session, "empty");
  run(session, kernel);  // the driver compiles the kernel at its first launch
  run_brief_threads(session, kernel, brief);
  run_waves(session, kernel, waves);
  double value = 1;
  for (long i = 0; i < rounds; ++i) {
    {
      const Timed timed("whole");
      value += compute_in_a();
      sleep_in_b();
      wait_for_lock();
      read_from_pipe();
      file.read_cold_file();
      value += file.touch_cold_mapping();
    }
    run(session, kernel);
  }
  holder.join();
  writer.join();
  print_spent();
  check(clReleaseKernel(kernel), "clReleaseKernel");
  close_session(session);
  return value > 0 ? 0 : 1;
}
