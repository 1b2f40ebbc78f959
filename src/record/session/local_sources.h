// The sources in the recorder's own process: started before the target runs, and stopped whatever happens.
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
  // Whether there is anything to start.
  static bool are_in(const backend::Backends& backends);

  LocalSources() = default;
  ~LocalSources() { stop(); }
  LocalSources(const LocalSources&) = delete;
  LocalSources& operator=(const LocalSources&) = delete;

  // All of `backends` that are local. After an error those that had started are stopped again. What is given lives
  // until stop().
  Status start(const backend::Backends& backends, const backend::Recording& recording);

  void set_recording(bool on);
  size_t drain();
  void stop();

  // What processes have mapped, for those whose programs walk stacks.
  void put(const std::vector<ProcessNews>& news);
  // Processes whose mappings are to be read again.
  std::vector<uint32_t> take_to_read_again();

  // Whether there was anything to start.
  [[nodiscard]] bool were_any() const { return were_any_; }

 private:
  struct Walk {
    std::unique_ptr<BpfProcesses> processes;
    std::unique_ptr<ProcessFeed> feed;  // last: its thread uses the other
  };
  std::vector<backend::Backend*> running_;
  std::vector<Walk> walks_;
  bool were_any_ = false;
};

}  // namespace gpuprof::record
