// The threads that launch GPU work, and what polls say about them: why they do not compute.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "backend/event_sink.h"
#include "record/batch.h"
#include "record/join/thread_polls.h"
#include "wire/bpf_events.h"

namespace gpuprof::record {

// A thread did not compute for `ns` between two polls. When exactly is unknown.
struct OffCpu {
  uint64_t ns = 0;
  std::string_view reason;
};

// Calls `emit` for each reason why the thread did not compute between two polls.
void split_off_cpu(const ThreadPoll& before, const ThreadPoll& now, const std::function<void(const OffCpu&)>& emit);

constexpr std::string_view kNoProcessor = "no processor";

// Calls `emit` for each part of a time in which BPF saw a thread off its CPU, in order of time.
struct OffCpuPart {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  std::string_view reason;
  bool is_wait = false;  // something ended it: a waker, if the kernel saw one
};
void split_off_cpu(const gpuprof_bpf_off_cpu& off, const std::function<void(const OffCpuPart&)>& emit);

class ThreadStates {
 public:
  struct Thread {
    backend::SourceId source = 0;  // that of its last launch
    NameIndex name = 0;
    ThreadPoll last;
  };

  void on_launch(const ThreadId& id, backend::SourceId source, NameIndex name);
  void end_source(backend::SourceId source);
  [[nodiscard]] const Thread* find(const ThreadId& id) const;  // null: the thread has not launched anything
  void erase(const ThreadId& id);
  [[nodiscard]] std::vector<ThreadId> ids() const;  // sorted
  // Returns another number after each change of ids(), never 0.
  [[nodiscard]] uint64_t version() const { return version_; }
  // Calls `use` if the thread still counts. Its `last` is the poll before, or empty if a pause of the recording, which
  // ended at `since_ns`, lies between the two. Forgets a thread that has ended.
  using Use = std::function<void(const Thread&, const ThreadPoll&)>;
  void on_poll(const ThreadPolls::Result& result, uint64_t since_ns, const Use& use);

 private:
  using Threads = std::map<ThreadId, Thread>;
  Threads::iterator erase(Threads::iterator entry);

  Threads threads_;
  uint64_t version_ = 1;
  std::map<backend::SourceId, size_t> of_source_;  // number of threads
};

}  // namespace gpuprof::record
