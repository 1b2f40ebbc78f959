// Polls threads that launch GPU work, from outside of their process, to learn why they do not compute. Needs no rights
// beyond those of the process's user.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>

#include "backend/event_sink.h"
#include "record/batch.h"

namespace gpuprof::record {

// What the kernel says about a thread at one time.
struct ThreadPoll {
  uint64_t time_ns = 0;
  uint64_t ran_ns = 0;       // how long the thread has run since it started
  uint64_t waited_ns = 0;    // how long it has waited for a processor
  std::string_view blocked;  // why it is blocked; empty: it runs, or waits for a processor
};

// A thread did not compute for `ns` between two polls. When exactly is unknown.
struct OffCpu {
  uint64_t ns = 0;
  std::string_view reason;
};

// Calls `emit` for each reason why the thread did not compute between two polls.
void split_off_cpu(const ThreadPoll& before, const ThreadPoll& now, const std::function<void(const OffCpu&)>& emit);

// Returns why a thread is blocked, or an empty text if it is not. `stat` and `syscall` are the texts of these files of
// /proc/PID/task/TID; `syscall` is empty if it is not readable.
std::string_view blocked_reason(std::string_view stat, std::string_view syscall);

class ThreadStates {
 public:
  struct Id {
    uint32_t pid = 0;
    uint32_t tid = 0;
    auto operator<=>(const Id&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 is wrong here
  };
  struct Thread {
    backend::SourceId source = 0;  // that of its last launch
    NameIndex name = 0;
    ThreadPoll last;
  };
  // The thread's `last` is the poll before `now_ns`.
  using Emit = std::function<void(const Id&, const Thread&, const OffCpu&)>;

  void on_launch(const Id& id, backend::SourceId source, NameIndex name);
  void end_source(backend::SourceId source);
  // Polls all threads, and forgets those that have ended. Emits nothing of polls before `since_ns`: a pause follows
  // them.
  void poll(uint64_t now_ns, uint64_t since_ns, const Emit& emit);

 private:
  using Threads = std::map<Id, Thread>;
  Threads::iterator erase(Threads::iterator entry);

  Threads threads_;
  std::map<backend::SourceId, size_t> of_source_;  // number of threads
};

}  // namespace gpuprof::record
