// Hands events about processes (started, mapped, ended) to who walks their stacks, on a thread of its own: to make the
// tables of a large library takes a second, and the rings must be drained meanwhile.
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
#include "record/bpf/process_listener.h"
#include "record/process/process_news.h"

namespace gpuprof::record {

class ProcessFeed {
 public:
  explicit ProcessFeed(ProcessListener& engine);  // which must live longer
  ~ProcessFeed();                                 // waits for what the engine is doing; the rest is dropped
  ProcessFeed(const ProcessFeed&) = delete;
  ProcessFeed& operator=(const ProcessFeed&) = delete;

  // An event that the engine has not been given yet is replaced by a newer one of the same kind and process, and by the
  // process's end: a process that maps files faster than tables are made must not fill our memory. Of one process the
  // engine gets the end first, and the mappings last, as they take the longest.
  void put(std::vector<ProcessNews> events);

  // How many events have been put; and how many of these, counted from the first, the engine has been given or has had
  // replaced by newer ones.
  [[nodiscard]] uint64_t put_so_far() const { return put_; }
  [[nodiscard]] uint64_t taken() const;

  // Readable once the engine has taken something since the last clear_fd().
  [[nodiscard]] int fd() const { return event_.get(); }
  void clear_fd() const;

 private:
  struct Pending {       // of one process, in the order in which it is told
    uint64_t first = 0;  // the number of the oldest event in it
    bool ended = false;
    std::optional<gpuprof_python_layout> python;
    std::shared_ptr<const symbolize::ProcessMaps> maps;  // null: none
  };

  void loop();
  void add(ProcessNews event);
  void tell(uint32_t pid, const Pending& pending);

  ProcessListener& engine_;
  UniqueFd event_;
  uint64_t put_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<uint32_t> queue_;  // processes, each once, by the age of their oldest event
  std::unordered_map<uint32_t, Pending> pending_;
  uint64_t telling_ = 0;  // `first` of what the engine is being told; 0: nothing
  bool stop_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace gpuprof::record
