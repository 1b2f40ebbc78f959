// Polls threads from outside of their process, in a thread of its own: at random times, because polls at regular times,
// or after something has happened, would fall into step with the program. Needs no rights beyond those of the process's
// user.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace gpuprof::record {

struct ThreadId {
  uint32_t pid = 0;
  uint32_t tid = 0;                                   // as the process sees it
  auto operator<=>(const ThreadId&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 is wrong here
};

// What the kernel says about a thread at one time.
struct ThreadPoll {
  uint64_t time_ns = 0;
  uint64_t ran_ns = 0;     // how long the thread has run since it started
  uint64_t waited_ns = 0;  // how long it has waited for a processor
  // How long its cgroups have been without a processor, because of their limit; 0: unknown, or not at all.
  uint64_t throttled_ns = 0;
  std::string_view blocked;  // why it is blocked; empty: it runs, or waits for a processor
};

// Returns the files that count for how long the cgroups of a process were throttled. `cgroups` is the text of
// /proc/PID/cgroup.
std::vector<std::string> throttle_files(std::string_view cgroups);

// Returns the throttled time in the text of such a file, or 0.
uint64_t throttled_ns(std::string_view cpu_stat);

// Returns why a thread is blocked, or an empty text if it is not. `stat` and `syscall` are the texts of these files of
// /proc/PID/task/TID; `syscall` is empty if it is not readable.
std::string_view blocked_reason(std::string_view stat, std::string_view syscall);

// Returns what a thread waits for in this system call, such as "waits: futex". `on_disk`: it waits for a disk.
std::string_view wait_of(long number, bool on_disk);

// What a thread did at one moment: the text of its file "syscall".
struct ThreadMoment {
  uint64_t time_ns = 0;
  std::string syscall;
};
// `folder` is the thread's, such as "/proc/12/task/13/".
ThreadMoment look_at_thread(const std::string& folder, uint64_t (*clock)());

// Returns what else the kernel says, a little later. Returns nullopt if the thread has ended.
std::optional<ThreadPoll> poll_thread(const std::string& folder, const ThreadMoment& moment);

class ThreadPolls {
 public:
  ThreadPolls(uint64_t period_ns, uint64_t (*clock)()) : period_ns_(period_ns), clock_(clock) {}
  ThreadPolls(const ThreadPolls&) = delete;
  ThreadPolls& operator=(const ThreadPolls&) = delete;
  ~ThreadPolls();

  // Polls these threads from now on; none: rests.
  void set(std::vector<ThreadId> threads);

  struct Result {
    ThreadId id;
    std::optional<ThreadPoll> poll;  // nullopt: the thread has ended
  };
  // Returns the polls since the last call, in order of time.
  std::vector<Result> take();
  // Returns how many rounds were left out, because a round with many threads takes long.
  [[nodiscard]] uint64_t skipped();

 private:
  void loop();

  const uint64_t period_ns_;
  uint64_t (*const clock_)();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ThreadId> threads_;
  bool is_new_ = false;  // `threads_` has changed
  std::vector<Result> results_;
  uint64_t skipped_ = 0;
  bool failed_ = false;  // the thread could not be started
  std::atomic<bool> stop_ = false;
  std::thread thread_;  // last member, because the thread uses the others
};

}  // namespace gpuprof::record
