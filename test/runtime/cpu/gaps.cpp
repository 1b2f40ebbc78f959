// An OpenCL program whose device waits in short gaps, for known reasons: between two kernels, the program does one of
// the following. Prints the ns of each reason, and of all together. The time of computing is CPU time.
//   --step N    computes for 1 ms after a kernel of 9 ms, N times
//   --launch N  computes in two functions, 70:30, for 20 to 500 us after a short kernel, N times
//   --half N    computes for 1 ms and sleeps for 1 ms, N times
//   --lock N    computes for 1 ms and waits 2 ms for a lock that another thread holds, N times
//   --fault N   computes for 1 ms and touches pages of a file that are not in memory, N times
//   --read N    computes for 1 ms and reads parts of a file that are not in memory, N times
// Exits with 77 if the file system keeps the file in memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <random>
#include <semaphore>
#include <thread>
#include <vector>

#include "setup.h"
#include "spent.h"

namespace {

using std::chrono::microseconds;

[[gnu::noinline]] double compute_in_a(microseconds time) {
  const Timed timed("compute_in_a", CLOCK_THREAD_CPUTIME_ID);
  return compute_for(time);
}

[[gnu::noinline]] double compute_in_b(microseconds time) {
  const Timed timed("compute_in_b", CLOCK_THREAD_CPUTIME_ID);
  return compute_for(time);
}

[[gnu::noinline]] void sleep_in_b(microseconds time) {
  const TimedBlocked timed("sleep_in_b");
  std::this_thread::sleep_for(time);
}

std::mutex lock;
std::binary_semaphore wanted(0);
std::binary_semaphore held(0);

void hold_lock(long rounds) {
  for (long i = 0; i < rounds; ++i) {
    wanted.acquire();
    const std::lock_guard guard(lock);
    held.release();
    std::this_thread::sleep_for(microseconds(2000));
  }
}

[[gnu::noinline]] void wait_for_lock() {
  const TimedBlocked timed("wait_for_lock");
  wanted.release();
  held.acquire();
  const std::lock_guard guard(lock);
}

// A file in the working directory, without a name.
class File {
 public:
  File() : fd_(open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
    const std::vector<char> piece(1 << 20, 'x');
    for (size_t written = 0; written < kBytes; written += piece.size()) {
      if (write(fd_, piece.data(), piece.size()) != static_cast<ssize_t>(piece.size())) {
        std::exit(77);
      }
    }
    fsync(fd_);
    void* const mapped = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd_, 0);
    pages_ = static_cast<volatile const char*>(mapped);
    drop();
    unsigned char in_memory = 0;
    if (mapped == MAP_FAILED || mincore(mapped, 1, &in_memory) != 0 || (in_memory & 1) != 0) {
      std::exit(77);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(fd_); }

  [[gnu::noinline]] void touch_pages() {
    use("touch_pages", [this](off_t at) { seen_ = seen_ + pages_[at]; });
  }
  [[gnu::noinline]] void read_parts() {
    use("read_parts",
        [this](off_t at) { seen_ = seen_ + (pread(fd_, part_.data(), part_.size(), at) > 0 ? part_.front() : 0); });
  }

 private:
  static constexpr size_t kBytes = 64 << 20;
  // So much is read at once, at a page fault by reading ahead. A poll does not see waits that are much shorter.
  static constexpr off_t kStep = 1 << 20;
  static constexpr int kParts = 4;

  void drop() {
    madvise(const_cast<char*>(pages_), kBytes, MADV_DONTNEED);
    posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  }

  template <typename Use>
  void use(const char* name, Use use) {
    const TimedBlocked timed(name);
    for (int i = 0; i < kParts; ++i) {
      use(next_);
      next_ += kStep;
      if (next_ >= static_cast<off_t>(kBytes)) {
        next_ = 0;
        drop();
      }
    }
  }

  int fd_;
  volatile const char* pages_ = nullptr;
  std::vector<char> part_ = std::vector<char>(kStep);
  off_t next_ = 0;
  volatile int seen_ = 0;
};

class Device {
 public:
  Device()
      : session_(open_session("kernel void spin(global float* out, int rounds) {"
                              "  float x = 1;"
                              "  for (int i = 0; i < rounds; ++i) { x = x * 0.999f + 1; }"
                              "  out[0] = x; }")),
        kernel_(make_kernel(session_, "spin")) {
    cl_int error = 0;
    out_ = clCreateBuffer(session_.context, CL_MEM_READ_WRITE, sizeof(float), nullptr, &error);
    check(error, "clCreateBuffer");
    check(clSetKernelArg(kernel_, 0, sizeof(out_), &out_), "clSetKernelArg");
    run(1);  // the driver compiles the kernel at its first launch
    const long begin = now_of(CLOCK_MONOTONIC);
    run(kCalibration);
    ns_of_round_ = static_cast<double>(now_of(CLOCK_MONOTONIC) - begin) / kCalibration;
  }
  ~Device() {
    clReleaseMemObject(out_);
    clReleaseKernel(kernel_);
    close_session(session_);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void run_for(microseconds time) { run(static_cast<cl_int>(static_cast<double>(time.count()) * 1000 / ns_of_round_)); }

 private:
  static constexpr cl_int kCalibration = 10'000'000;

  void run(cl_int rounds) {
    const size_t items = 1;
    check(clSetKernelArg(kernel_, 1, sizeof(rounds), &rounds), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(session_.queue, kernel_, 1, nullptr, &items, &items, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
    check(clFinish(session_.queue), "clFinish");
  }

  Session session_;
  cl_kernel kernel_;
  cl_mem out_ = nullptr;
  double ns_of_round_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  const long count = argc == 3 ? std::atol(argv[2]) : 0;
  std::thread holder(hold_lock, mode == "--lock" ? count : 0);
  Device device;
  std::mt19937 random(20261128);
  std::uniform_int_distribution<int> gap_us(20, 500);
  double value = 1;
  const auto repeat = [&](const char* name, microseconds kernel, auto work) {
    for (long i = 0; mode == name && i < count; ++i) {
      {
        const Timed timed("whole");
        work();
      }
      device.run_for(kernel);
    }
  };
  repeat("--step", microseconds(9000), [&] { value += compute_in_a(microseconds(1000)); });
  repeat("--launch", microseconds(50), [&] {
    const int us = gap_us(random);
    value += compute_in_a(microseconds(us * 7 / 10)) + compute_in_b(microseconds(us * 3 / 10));
  });
  repeat("--half", microseconds(500), [&] {
    value += compute_in_a(microseconds(1000));
    sleep_in_b(microseconds(1000));
  });
  repeat("--lock", microseconds(500), [&] {
    value += compute_in_a(microseconds(1000));
    wait_for_lock();
  });
  if (mode == "--fault" || mode == "--read") {
    File file;
    repeat("--fault", microseconds(500), [&] {
      value += compute_in_a(microseconds(1000));
      file.touch_pages();
    });
    repeat("--read", microseconds(500), [&] {
      value += compute_in_a(microseconds(1000));
      file.read_parts();
    });
  }
  holder.join();
  print_spent();
  return value > 0 ? 0 : 1;
}
