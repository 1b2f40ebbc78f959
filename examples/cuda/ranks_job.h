// A job of several processes on this machine: starts the ranks, passes a few bytes from rank 0 to the others, and ends
// all ranks when one fails. It does not use CUDA, because the process that starts the ranks must not use a GPU.
#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

constexpr int kUsage = 2;
constexpr int kNotHere = 77;  // exit code if NCCL or GPUs are missing, so that the test is skipped
constexpr long kMostWork = 2'000'000'000;
constexpr long kMostRanks = 64;
// Descriptor of the shared memory; it stays open when this program is executed again as a rank.
constexpr int kSharedFd = 57;
// This variable marks the processes that this program starts as ranks. RANK cannot, because another launcher may have
// set it.
constexpr const char* kRankOfJob = "EXAMPLE_CUDA_RANK";

struct Shared {
  char bytes[128];
  std::atomic<int> published;
};

class Arguments {
 public:
  Arguments(int argc, char** argv) : list_(argv + 1, argv + argc) {}

  std::string text(const std::string& name, const std::string& otherwise) const {
    for (size_t i = 0; i + 1 < list_.size(); ++i) {
      if (list_[i] == name) {
        return list_[i + 1];
      }
    }
    return otherwise;
  }

  long number(const std::string& name, long otherwise) const {
    const std::string value = text(name, "");
    if (value.empty()) {
      return otherwise;
    }
    char* end = nullptr;
    const long found = std::strtol(value.c_str(), &end, 10);
    if (*end != '\0' || found > kMostWork || found < -1) {
      std::fprintf(stderr, "%s wants a number, not %s\n", name.c_str(), value.c_str());
      std::exit(kUsage);
    }
    return found;
  }

  long positive(const std::string& name, long otherwise) const {
    const long found = number(name, otherwise);
    if (found <= 0) {
      std::fprintf(stderr, "%s wants a positive number\n", name.c_str());
      std::exit(kUsage);
    }
    return found;
  }

 private:
  std::vector<std::string> list_;
};

inline uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

inline Shared* map_shared() {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, kSharedFd, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  return static_cast<Shared*>(memory);
}

inline void publish(Shared& shared, const char* bytes, size_t size) {
  std::memcpy(shared.bytes, bytes, std::min(size, sizeof shared.bytes));
  shared.published.store(1, std::memory_order_release);
}

// Waits for the bytes from rank 0. If rank 0 has died, the alarm of this rank ends the wait.
inline void receive(const Shared& shared, char* bytes, size_t size) {
  while (shared.published.load(std::memory_order_acquire) == 0) {
    usleep(1000);
  }
  std::memcpy(bytes, shared.bytes, std::min(size, sizeof shared.bytes));
}

inline pid_t start_rank(char** argv, long number, long ranks) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) {
    return child;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);
  }
  setenv("RANK", std::to_string(number).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
  setenv(kRankOfJob, std::to_string(number).c_str(), 1);
  // All ranks are on this machine, which may have no network. NVLink multicast can disturb other users of the host.
  setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  execv("/proc/self/exe", argv);
  _exit(127);
}

// Returns the exit code of a process, in the form that a shell uses.
inline int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Returns the first exit code that is not 0. If a rank fails, or after `seconds`, kills the remaining ranks.
inline int launch_ranks(char** argv, long ranks, long seconds) {
  if (ranks > kMostRanks) {
    std::fprintf(stderr, "--ranks: at most %ld\n", kMostRanks);
    return kUsage;
  }
  const int fd = memfd_create("ranks", 0);
  if (fd < 0 || ftruncate(fd, sizeof(Shared)) != 0 || dup2(fd, kSharedFd) < 0) {
    std::perror("memfd_create");
    return 1;
  }
  std::vector<pid_t> left;
  int failed = 0;
  for (long i = 0; i < ranks && failed == 0; ++i) {
    const pid_t child = start_rank(argv, i, ranks);
    if (child < 0) {
      std::perror("fork");
      failed = 1;
    } else {
      left.push_back(child);
    }
  }
  const auto kill_all = [&left] {
    for (const pid_t child : left) {
      kill(child, SIGKILL);
    }
  };
  // A rank should end by its own alarm(). If it has not ended 5 s later, it is killed.
  const uint64_t end_ns = now_ns() + (static_cast<uint64_t>(seconds) + 5) * 1'000'000'000;
  bool killed = failed != 0;
  if (killed) {
    kill_all();
  }
  while (!left.empty()) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, WNOHANG);
    if (child < 0 && errno != EINTR) {
      std::perror("waitpid");
      kill_all();
      return 1;
    }
    if (child <= 0) {
      if (!killed && now_ns() > end_ns) {
        std::fprintf(stderr, "the ranks did not end within %ld s\n", seconds);
        failed = 1;
        killed = true;
        kill_all();
      }
      usleep(10'000);
      continue;
    }
    const auto known = std::find(left.begin(), left.end(), child);
    if (known == left.end()) {
      continue;  // another child process, which is not a rank
    }
    left.erase(known);
    if (status != 0 && !killed) {
      failed = exit_code_of(status);
      std::fprintf(stderr, "a rank ended with %d\n", failed);
      killed = true;
      kill_all();
    }
  }
  return failed;
}
