// Runs the sources in the recorder's own process.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"
#include "record/bpf/bpf_processes.h"
#include "record/bpf/process_feed.h"

namespace gpuprof::record {

class LocalSources {
 public:
  static bool are_in(const backend::Backends& backends);

  LocalSources() = default;
  ~LocalSources() { stop(); }
  LocalSources(const LocalSources&) = delete;
  LocalSources& operator=(const LocalSources&) = delete;

  // Starts all local backends. If one fails, stops those that have started. The arguments must live until stop().
  Status start(const backend::Backends& backends, const backend::Recording& recording);

  void set_recording(bool on);
  size_t drain();
  void stop();

  // Passes process events to the sources whose BPF programs walk stacks.
  void put(const std::vector<ProcessEvent>& events);
  std::vector<uint32_t> take_outdated();

  [[nodiscard]] bool started_any() const { return were_any_; }

 private:
  struct Walk {
    std::unique_ptr<BpfProcesses> processes;
    std::unique_ptr<ProcessFeed> feed;  // last member, because its thread uses `processes`
  };
  std::vector<backend::Backend*> running_;
  std::vector<Walk> walks_;
  bool were_any_ = false;
};

}  // namespace gpuprof::record
