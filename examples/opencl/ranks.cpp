// A parallel job for `gpuprof ranks`: processes compute, and wait for each other after every step. Each is a rank, set
// by the variable RANK, as with torchrun. all_reduce() waits on the CPU. Starting with step --slow-from, the rank
// --slow-rank does --factor percent of the others' work in smooth(). This rank prints the time at which it became slow
// (CLOCK_MONOTONIC, ns). Each rank prints its own step times without the waits, to compare with a profile: on a machine
// with other users, processors are not equally fast.
//
// With --fetch compute or --fetch sleep, each step begins with fetch_batch(), which does this for 1 ms, or for
// --fetch-ms in the slow rank. The slow rank's work on the device then is the same as that of the others.
//
//   example_opencl_ranks [--ranks N] [--steps N] [--work N] [--slow-rank R --slow-from STEP --factor PCT]
//                        [--fetch compute|sleep --fetch-ms N]
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "setup.h"

namespace {

constexpr const char* kSource = R"(
kernel void advance(global float* x, int steps) {
  float v = x[get_global_id(0)];
  for (int i = 0; i < steps; ++i) v = v * 0.999f + 0.5f;
  x[get_global_id(0)] = v;
}
kernel void relax(global float* x, int steps) {
  float v = x[get_global_id(0)];
  for (int i = 0; i < steps; ++i) v = v * 0.998f + 0.25f;
  x[get_global_id(0)] = v;
})";

// Descriptor of the shared memory; it stays open when this program is executed again as a rank.
constexpr int kSharedFd = 57;

struct Shared {
  pthread_barrier_t meeting;
};

struct Rank {
  Session session;
  cl_kernel advance = nullptr;
  cl_kernel relax = nullptr;
  cl_mem data = nullptr;
  Shared* shared = nullptr;
};

void run(const Rank& rank, cl_kernel kernel, cl_int steps) {
  const size_t items = 1;
  check(clSetKernelArg(kernel, 0, sizeof rank.data, &rank.data), "clSetKernelArg");
  check(clSetKernelArg(kernel, 1, sizeof steps, &steps), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(rank.session.queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  check(clFinish(rank.session.queue), "clFinish");
}

void transport(const Rank& rank, cl_int work) {
  run(rank, rank.advance, work);
}
void smooth(const Rank& rank, cl_int work) {
  run(rank, rank.relax, work);
}

[[gnu::noinline]] void fetch_batch(const std::string& how, std::chrono::milliseconds time) {
  if (how == "sleep") {
    std::this_thread::sleep_for(time);
    return;
  }
  const auto end = std::chrono::steady_clock::now() + time;
  volatile double value = 1;
  while (how == "compute" && std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 1000; ++i) {
      value = value * 0.999 + 1;
    }
  }
}

void all_reduce(const Rank& rank) {
  cl_int status = CL_SUCCESS;
  cl_event met = clCreateUserEvent(rank.session.context, &status);
  check(status, "clCreateUserEvent");
  std::thread network([&] {
    pthread_barrier_wait(&rank.shared->meeting);
    clSetUserEventStatus(met, CL_COMPLETE);
  });
  check(clWaitForEvents(1, &met), "clWaitForEvents");
  network.join();
  check(clReleaseEvent(met), "clReleaseEvent");
}

uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

long number_or(int argc, char** argv, const std::string& name, long otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == name) {
      return std::strtol(argv[i + 1], nullptr, 10);
    }
  }
  return otherwise;
}

std::string text_or(int argc, char** argv, const std::string& name, const char* otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == name) {
      return argv[i + 1];
    }
  }
  return otherwise;
}

// Gives each rank its own processors if there are at least two per rank. Otherwise some ranks would be slow only
// because they share a core.
void keep_to_own_processors(long number, long ranks) {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) {
    return;
  }
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &all)) {
      processors.push_back(i);
    }
  }
  const size_t each = processors.size() / static_cast<size_t>(ranks);
  if (each < 2) {
    return;
  }
  const size_t first = static_cast<size_t>(number) * each;
  cpu_set_t own;
  CPU_ZERO(&own);
  for (size_t i = first; i < first + each; ++i) {
    CPU_SET(processors[i], &own);
  }
  sched_setaffinity(0, sizeof own, &own);
}

struct Step {
  uint64_t end_ns = 0;
  uint64_t own_ns = 0;  // time without the wait in all_reduce()
};

// Prints when each twentieth of the job ended, and the median time of its steps.
void print_own_times(long number, std::vector<Step> steps) {
  constexpr size_t kParts = 20;
  std::string line = "rank " + std::to_string(number) + " needs, end of part:ns a step:";
  for (size_t part = 0; part < kParts; ++part) {
    const auto begin = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() * part / kParts);
    const auto end = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() * (part + 1) / kParts);
    if (begin == end) {
      continue;
    }
    const uint64_t end_ns = std::prev(end)->end_ns;
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end, [](const Step& a, const Step& b) { return a.own_ns < b.own_ns; });
    line += " " + std::to_string(end_ns) + ":" + std::to_string(middle->own_ns);
  }
  std::printf("%s\n", line.c_str());
}

int be_rank(int argc, char** argv, long number) {
  Rank rank;
  keep_to_own_processors(number, option(argc, argv, "--ranks", 4));
  rank.session = open_session(kSource);
  rank.advance = make_kernel(rank.session, "advance");
  rank.relax = make_kernel(rank.session, "relax");
  cl_int status = CL_SUCCESS;
  rank.data = clCreateBuffer(rank.session.context, CL_MEM_READ_WRITE, sizeof(float), nullptr, &status);
  check(status, "clCreateBuffer");
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, kSharedFd, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    return 1;
  }
  rank.shared = static_cast<Shared*>(memory);

  const long steps = option(argc, argv, "--steps", 300);
  const auto work = static_cast<cl_int>(option(argc, argv, "--work", 1'000'000));
  const bool slow = number_or(argc, argv, "--slow-rank", -1) == number;
  const long slow_from = number_or(argc, argv, "--slow-from", 0);
  const long factor = option(argc, argv, "--factor", 200);
  const std::string fetch = text_or(argc, argv, "--fetch", "");
  const std::chrono::milliseconds slow_fetch(option(argc, argv, "--fetch-ms", 10));
  std::vector<Step> done;
  for (long step = 0; step < steps; ++step) {
    if (slow && step == slow_from) {
      std::printf("rank %ld is slow from %llu on\n", number, static_cast<unsigned long long>(now_ns()));
      std::fflush(stdout);
    }
    const uint64_t begin = now_ns();
    const bool is_slow = slow && step >= slow_from;
    fetch_batch(fetch, is_slow ? slow_fetch : std::chrono::milliseconds(1));
    transport(rank, work);
    smooth(rank, is_slow && fetch.empty() ? static_cast<cl_int>(work / 100 * factor) : work);
    const uint64_t end = now_ns();
    done.push_back({end, end - begin});
    all_reduce(rank);
  }
  print_own_times(number, std::move(done));
  check(clReleaseMemObject(rank.data), "clReleaseMemObject");
  check(clReleaseKernel(rank.relax), "clReleaseKernel");
  check(clReleaseKernel(rank.advance), "clReleaseKernel");
  close_session(rank.session);
  return 0;
}

int launch(int argc, char** argv) {
  const long ranks = option(argc, argv, "--ranks", 4);
  const int fd = memfd_create("meeting", 0);
  if (fd < 0 || ftruncate(fd, sizeof(Shared)) != 0 || dup2(fd, kSharedFd) < 0) {
    std::perror("memfd_create");
    return 1;
  }
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, kSharedFd, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    return 1;
  }
  pthread_barrierattr_t shared{};
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&static_cast<Shared*>(memory)->meeting, &shared, static_cast<unsigned>(ranks));
  setenv("POCL_MAX_PTHREAD_COUNT", "1", 0);  // PoCL uses one thread per rank
  setenv("POCL_CPU_MAX_CU_COUNT", "1", 0);
  std::vector<pid_t> children;
  for (long i = 0; i < ranks; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // Without this, nothing would end a rank that waits for the others.
      setenv("RANK", std::to_string(i).c_str(), 1);
      execv("/proc/self/exe", argv);
      _exit(127);
    }
    children.push_back(child);
  }
  int failed = 0;
  for (size_t left = children.size(); left > 0; --left) {
    int status = 0;
    // If a rank has ended, the other ranks would wait for it forever.
    const pid_t gone = waitpid(-1, &status, 0);
    std::replace(children.begin(), children.end(), gone, 0);
    if (gone < 0 || status != 0) {
      failed = 1;
      for (const pid_t other : children) {
        if (other > 0) {
          kill(other, SIGKILL);
        }
      }
    }
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  const char* rank = std::getenv("RANK");
  return rank != nullptr ? be_rank(argc, argv, std::strtol(rank, nullptr, 10)) : launch(argc, argv);
}
