#include "record/join/off_cpu.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

#include "base/files/file.h"

namespace gpuprof::record {
namespace {

constexpr std::string_view kNoProcessor = "no processor";
constexpr size_t kMostBytes = 4096;
// A target may invent threads, and each costs three reads of files per poll.
constexpr size_t kMostThreads = 4096;
constexpr size_t kMostThreadsOfSource = 256;

// Returns the name of what a thread waits for in this system call.
std::string_view wait_of(long number, bool on_disk) {
  switch (number) {
    case SYS_futex:
      return "waits: futex";
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
      return "sleeps";
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
      return "waits: poll";
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_openat:
      return on_disk ? "disk" : "waits: read or write";
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

std::optional<ThreadPoll> poll_thread(const ThreadStates::Id& thread, uint64_t now_ns) {
  const std::string folder = "/proc/" + std::to_string(thread.pid) + "/task/" + std::to_string(thread.tid) + "/";
  ThreadPoll poll{.time_ns = now_ns};
  const std::string times = read_text(folder + "schedstat", kMostBytes);
  if (std::sscanf(times.c_str(), "%lu %lu", &poll.ran_ns, &poll.waited_ns) != 2) {
    return std::nullopt;
  }
  poll.blocked = blocked_reason(read_text(folder + "stat", kMostBytes), read_text(folder + "syscall", kMostBytes));
  return poll;
}

}  // namespace

std::string_view blocked_reason(std::string_view stat, std::string_view syscall) {
  const size_t name_end = stat.rfind(") ");  // the name may hold any byte
  const char state = name_end == std::string_view::npos || name_end + 2 >= stat.size() ? 'R' : stat[name_end + 2];
  if (state == 'T' || state == 't') {
    return "stopped";
  }
  if (state != 'S' && state != 'D') {
    return {};
  }
  if (syscall.empty()) {
    return state == 'D' ? "disk" : "waits";
  }
  if (syscall.starts_with("running")) {
    return {};  // it woke up between the two reads
  }
  if (syscall.starts_with("-1")) {
    return "page fault";  // blocked outside of a system call
  }
  return wait_of(std::strtol(std::string(syscall).c_str(), nullptr, 10), state == 'D');
}

void split_off_cpu(const ThreadPoll& before, const ThreadPoll& now, const std::function<void(const OffCpu&)>& emit) {
  const uint64_t wall = now.time_ns - std::min(before.time_ns, now.time_ns);
  const uint64_t ran = std::min(wall, now.ran_ns - std::min(before.ran_ns, now.ran_ns));
  const uint64_t waited = std::min(wall - ran, now.waited_ns - std::min(before.waited_ns, now.waited_ns));
  const uint64_t blocked = wall - ran - waited;
  const std::string_view reason = now.blocked.empty() ? before.blocked : now.blocked;
  if (waited > 0) {
    emit({waited, kNoProcessor});
  }
  if (blocked > 0 && !reason.empty()) {
    emit({blocked, reason});
  }
}

void ThreadStates::on_launch(const Id& id, backend::SourceId source, NameIndex name) {
  auto entry = threads_.find(id);
  const bool is_new = entry == threads_.end();
  if (is_new || entry->second.source != source) {
    size_t& count = of_source_[source];
    if (count >= kMostThreadsOfSource || (is_new && threads_.size() >= kMostThreads)) {
      return;
    }
    ++count;
    if (is_new) {
      entry = threads_.emplace(id, Thread{}).first;
    } else {
      --of_source_[entry->second.source];
    }
    entry->second.source = source;
  }
  entry->second.name = name;
}

ThreadStates::Threads::iterator ThreadStates::erase(Threads::iterator entry) {
  --of_source_[entry->second.source];
  return threads_.erase(entry);
}

void ThreadStates::end_source(backend::SourceId source) {
  if (of_source_.erase(source) != 0) {
    std::erase_if(threads_, [source](const auto& entry) { return entry.second.source == source; });
  }
}

void ThreadStates::poll(uint64_t now_ns, uint64_t since_ns, const Emit& emit) {
  for (auto entry = threads_.begin(); entry != threads_.end();) {
    const ThreadStates::Id id = entry->first;
    Thread& thread = entry->second;
    const auto now = poll_thread(id, now_ns);
    if (!now) {
      entry = erase(entry);
      continue;
    }
    if (thread.last.time_ns != 0 && thread.last.time_ns >= since_ns) {
      split_off_cpu(thread.last, *now, [&](const OffCpu& time) { emit(id, thread, time); });
    }
    thread.last = *now;
    ++entry;
  }
}

}  // namespace gpuprof::record
