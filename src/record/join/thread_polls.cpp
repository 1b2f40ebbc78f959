#include "record/join/thread_polls.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/process/system_calls_arch.h"

namespace gpuprof::record {
namespace {

constexpr size_t kMostBytes = 4096;

// Limits the CPU time of the rounds to a tenth, whatever the number of threads.
constexpr uint64_t kRestsPerRound = 9;

// How many results may wait for the recorder's main thread. It takes them at least 50 times a second.
constexpr size_t kMostResults = 100'000;

constexpr std::string_view kReadsOrWrites = "waits: read or write";

// Returns the last number in the line "NSpid:" of a file "status": the id in the innermost namespace. `depth`: in how
// many namespaces the thread has an id.
uint64_t innermost_id(const std::string& status, size_t& depth) {
  constexpr std::string_view kLine = "\nNSpid:";
  depth = 0;
  uint64_t id = 0;
  const size_t line = status.find(kLine);
  if (line == std::string::npos) {
    return 0;
  }
  const char* at = status.c_str() + line + kLine.size();
  while (*at == '\t') {
    char* end = nullptr;
    id = std::strtoul(at + 1, &end, 10);
    at = end;
    ++depth;
  }
  return id;
}

uint64_t number_after(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  return at == std::string_view::npos
             ? 0
             : std::strtoul(std::string(text.substr(at + word.size(), 24)).c_str(), nullptr, 10);
}

// Returns whether a thread blocked in a read or write waits for a file. Its state says so, too, but is read later.
bool waits_for_file(const std::string& folder, const std::string& syscall) {
  unsigned long file = 0;
  struct statx facts = {};
  // AT_STATX_DONT_SYNC: must not wait for the server or daemon of a file system.
  return std::sscanf(syscall.c_str(), "%*d %lx", &file) == 1 &&
         statx(AT_FDCWD, (folder + "fd/" + std::to_string(file)).c_str(), AT_STATX_DONT_SYNC, STATX_TYPE, &facts) ==
             0 &&
         (S_ISREG(facts.stx_mode) || S_ISBLK(facts.stx_mode));
}

// Returns the longest throttled time of nested cgroups: throttling of several of them at once counts once.
// `known` has the times that were already read in this round: the processes of a job share cgroups.
uint64_t read_throttled(const std::vector<std::string>& files, std::map<std::string, uint64_t>& known) {
  uint64_t longest = 0;
  for (const std::string& file : files) {
    const auto [time, is_new] = known.try_emplace(file);
    if (is_new) {
      time->second = throttled_ns(read_text(file, kMostBytes));
    }
    longest = std::max(longest, time->second);
  }
  return longest;
}

// The folders in /proc of a process's threads, by the ids that the process sees.
using Folders = std::map<uint64_t, std::string>;

Folders list_threads(const std::string& threads) {
  constexpr size_t kMostListed = 16'384;  // each costs a read, and a target can have any number
  Folders folders;
  size_t depth = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> list(opendir(threads.c_str()), closedir);
  while (const dirent* entry = list == nullptr || folders.size() >= kMostListed ? nullptr : readdir(list.get())) {
    const std::string folder = threads + entry->d_name + "/";
    if (entry->d_name[0] != '.') {
      folders.emplace(innermost_id(read_text(folder + "status", kMostBytes), depth), folder);
    }
  }
  return folders;
}

// Returns the folder of the thread in /proc, or an empty text if it does not exist. A process in a pid namespace of its
// own sees other tids than /proc. `listed` has the threads of the processes that were looked at before, by pid.
std::string find_thread(const ThreadId& id, std::map<uint32_t, Folders>& listed) {
  const std::string threads = "/proc/" + std::to_string(id.pid) + "/task/";
  size_t depth = 0;
  innermost_id(read_text("/proc/" + std::to_string(id.pid) + "/status", kMostBytes), depth);
  if (depth <= 1) {
    return threads + std::to_string(id.tid) + "/";
  }
  const auto [process, is_new] = listed.try_emplace(id.pid);
  if (is_new) {
    process->second = list_threads(threads);
  }
  const auto found = process->second.find(id.tid);
  return found == process->second.end() ? std::string() : found->second;
}

}  // namespace

std::string_view wait_of(long number, bool on_disk) {
  if (is_one_of(kOlderPolls, number) || is_one_of(kOlderEventPolls, number)) {
    return "waits: poll";
  }
  switch (number) {
    case SYS_futex:
      return "waits: futex";
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
      return "sleeps";
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
      return "waits: poll";
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_openat:
      return on_disk ? "disk" : kReadsOrWrites;
    case SYS_fsync:
    case SYS_fdatasync:
      return "disk";
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_accept4:
    case SYS_connect:
      return "waits: socket";
    case SYS_wait4:
    case SYS_waitid:
      return "waits: child";
    case SYS_ioctl:
      return "waits: ioctl";
    default:
      return on_disk ? "disk" : "waits: another system call";
  }
}

std::vector<std::string> throttle_files(std::string_view cgroups) {
  constexpr size_t kMostFiles = 16;
  std::vector<std::string> files;
  while (!cgroups.empty()) {
    std::string_view line = cgroups.substr(0, cgroups.find('\n'));
    cgroups.remove_prefix(std::min(cgroups.size(), line.size() + 1));
    const size_t controllers_at = line.find(':') + 1;
    const size_t path_at = line.find(":/", controllers_at);
    if (controllers_at == 0 || path_at == std::string_view::npos) {
      continue;
    }
    // cgroup v1 names the controllers, as in "4:cpu,cpuacct:/a/b". v2 has "0::/a/b".
    const std::string controllers = "," + std::string(line.substr(controllers_at, path_at - controllers_at)) + ",";
    const bool is_v1 = controllers.find(",cpu,") != std::string::npos;
    if (!is_v1 && controllers != ",,") {
      continue;
    }
    std::string path(line.substr(path_at + 1));
    path = path == "/" ? "" : path;
    while (files.size() < kMostFiles) {
      files.push_back((is_v1 ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup") + path + "/cpu.stat");
      if (path.empty()) {
        break;
      }
      path.resize(path.rfind('/'));
    }
  }
  return files;
}

uint64_t throttled_ns(std::string_view cpu_stat) {
  constexpr uint64_t kUs = 1000;
  return number_after(cpu_stat, "throttled_usec ") * kUs + number_after(cpu_stat, "throttled_time ");
}

std::string_view blocked_reason(std::string_view stat, std::string_view syscall) {
  const size_t name_end = stat.rfind(") ");  // the name may hold any byte
  const char state = name_end == std::string_view::npos || name_end + 2 >= stat.size() ? 'R' : stat[name_end + 2];
  if (syscall.starts_with("running")) {
    return {};
  }
  if (state == 'T' || state == 't') {
    return "stopped";
  }
  if (syscall.empty()) {
    return state == 'D' ? "disk" : state == 'S' ? "waits" : "";
  }
  // It was blocked when `syscall` was read. If it has run since then, `stat` does not say so of that moment.
  if (syscall.starts_with("-1")) {
    return "page fault";  // blocked outside of a system call
  }
  return wait_of(std::strtol(std::string(syscall).c_str(), nullptr, 10), state == 'D');
}

ThreadMoment look_at_thread(const std::string& folder, uint64_t (*clock)()) {
  const uint64_t before_ns = clock();
  std::string syscall = read_text(folder + "syscall", kMostBytes);
  return {before_ns + (clock() - before_ns) / 2, std::move(syscall)};
}

std::optional<ThreadPoll> poll_thread(const std::string& folder, const ThreadMoment& moment) {
  ThreadPoll poll;
  const std::string times = read_text(folder + "schedstat", kMostBytes);
  if (std::sscanf(times.c_str(), "%lu %lu", &poll.ran_ns, &poll.waited_ns) != 2) {
    return std::nullopt;
  }
  poll.time_ns = moment.time_ns;
  poll.blocked = blocked_reason(read_text(folder + "stat", kMostBytes), moment.syscall);
  if (poll.blocked == kReadsOrWrites && waits_for_file(folder, moment.syscall)) {
    poll.blocked = "disk";
  }
  return poll;
}

ThreadPolls::~ThreadPolls() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void ThreadPolls::set(std::vector<ThreadId> threads) {
  const bool starts = !threads.empty() && !thread_.joinable();
  {
    const std::lock_guard lock(mutex_);
    threads_ = std::move(threads);
    is_new_ = true;
  }
  changed_.notify_all();
  if (starts && !failed_) {
    try {
      thread_ = std::thread([this] { loop(); });
    } catch (const std::system_error&) {
      failed_ = true;  // the target has taken all threads; time in short gaps stays unexplained
    }
  }
}

std::vector<ThreadPolls::Result> ThreadPolls::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(results_, {});
}

uint64_t ThreadPolls::skipped() {
  const std::lock_guard lock(mutex_);
  return skipped_;
}

void ThreadPolls::loop() {
  // If all processors are busy, a poll waits for one. When it gets one, the thread is blocked more often than usual. So
  // the polls come first, if the user may ask for this.
  constexpr int kFirst = -20;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kFirst);
  // Linux lets timers of one processor end together if their slack allows it. A poll must not come with the wake-ups of
  // the thread that is polled.
  prctl(PR_SET_TIMERSLACK, 1);
  std::mt19937_64 random(clock_());
  std::uniform_int_distribution<uint64_t> pause(period_ns_ / 2, period_ns_ + period_ns_ / 2);
  std::map<ThreadId, std::string> folders;
  std::map<uint32_t, std::vector<std::string>> throttle;  // keyed by pid
  uint64_t rest_ns = 0;
  std::unique_lock lock(mutex_);
  while (!stop_) {
    changed_.wait_for(lock, std::chrono::nanoseconds(std::max(pause(random), rest_ns)),
                      [this] { return stop_.load(); });
    if (threads_.empty()) {
      rest_ns = 0;
      changed_.wait(lock, [this] { return stop_ || !threads_.empty(); });
      continue;
    }
    if (std::exchange(is_new_, false)) {
      throttle.clear();
      std::map<ThreadId, std::string> known = std::exchange(folders, {});
      for (const ThreadId& id : threads_) {
        folders.emplace(id, std::move(known[id]));
      }
    }
    lock.unlock();
    const uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);  // not the time in which others have the processor
    // This comes first. During a round, this thread may have the processor of a thread that wakes up, which then waits
    // for it. A later look would find that thread runnable too often.
    std::map<ThreadId, ThreadMoment> moments;
    for (const auto& [id, folder] : folders) {
      if (!folder.empty()) {
        moments.emplace(id, look_at_thread(folder, clock_));
      }
    }
    std::vector<Result> results;
    std::map<uint32_t, Folders> listed;
    std::map<std::string, uint64_t> throttled_times;  // keyed by file
    uint32_t pid = 0;
    uint64_t throttled = 0;
    for (auto& [id, folder] : folders) {
      if (stop_) {
        return;
      }
      if (id.pid != std::exchange(pid, id.pid)) {
        const auto [files, is_new] = throttle.try_emplace(pid);
        if (is_new) {
          files->second = throttle_files(read_text("/proc/" + std::to_string(pid) + "/cgroup", kMostBytes));
        }
        throttled = read_throttled(files->second, throttled_times);
      }
      folder = folder.empty() ? find_thread(id, listed) : std::move(folder);
      const auto moment = moments.find(id);
      if (moment == moments.end() && !folder.empty()) {
        continue;  // found just now, so polled in the next round
      }
      results.push_back({id, folder.empty() ? std::nullopt : poll_thread(folder, moment->second)});
      if (results.back().poll) {
        results.back().poll->throttled_ns = throttled;
      }
    }
    rest_ns = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) * kRestsPerRound;
    lock.lock();
    skipped_ += rest_ns / (period_ns_ + period_ns_ / 2);
    if (results_.size() + results.size() <= kMostResults) {
      results_.insert(results_.end(), results.begin(), results.end());
    } else {
      ++skipped_;
    }
  }
}

}  // namespace gpuprof::record
