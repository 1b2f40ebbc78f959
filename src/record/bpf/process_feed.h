// Tells a stack engine of the processes of a recording, on a thread of its own: making tables of a large library takes
// a second, and the rings must be drained meanwhile.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "record/bpf/stack_engine.h"
#include "record/process/process_news.h"

namespace gpuprof::record {

class ProcessFeed {
 public:
  explicit ProcessFeed(StackEngine& engine);  // which must live longer
  ~ProcessFeed();                             // waits for what the engine is doing; the rest is dropped
  ProcessFeed(const ProcessFeed&) = delete;
  ProcessFeed& operator=(const ProcessFeed&) = delete;

  // News of a process that the engine has not come to yet is replaced by newer news of the same kind, and by its end:
  // a process that makes news faster than tables are made must not fill our memory. The engine is told of an end
  // first, and of mappings last, as they take the longest.
  void put(std::vector<ProcessNews> news);

  // How many pieces of news have been put, and up to which of them the engine has taken all, or newer ones instead.
  [[nodiscard]] uint64_t put_so_far() const { return put_; }
  [[nodiscard]] uint64_t taken() const;

  // Readable once the engine has taken something since the last clear_fd().
  [[nodiscard]] int fd() const { return event_.get(); }
  void clear_fd() const;

 private:
  struct Pending {       // of one process, in the order in which it is told
    uint64_t first = 0;  // the number of the oldest piece of news in it
    bool ended = false;
    std::optional<gpuprof_python_layout> python;
    std::shared_ptr<const symbolize::ProcessMaps> maps;  // null: no news
  };

  void loop();
  void add(ProcessNews news);
  void tell(uint32_t pid, const Pending& news);

  StackEngine& engine_;
  UniqueFd event_;
  uint64_t put_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<uint32_t> queue_;  // processes, each once, by the age of their news
  std::unordered_map<uint32_t, Pending> pending_;
  uint64_t telling_ = 0;  // `first` of what the engine is being told; 0: nothing
  bool stop_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace gpuprof::record
