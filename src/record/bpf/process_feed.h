// Sends events about processes to the stack walker from a separate thread. Building the tables of a large library takes
// a second, and the main thread must read the rings during that time.
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
#include "record/process/process_event.h"

namespace gpuprof::record {

class ProcessFeed {
 public:
  explicit ProcessFeed(ProcessListener& engine);  // the engine must outlive the feed
  // Waits until the engine's present call returns. Discards pending events.
  ~ProcessFeed();
  ProcessFeed(const ProcessFeed&) = delete;
  ProcessFeed& operator=(const ProcessFeed&) = delete;

  // Queues events. A new event replaces a pending event of the same kind and process. The end of a process replaces all
  // its pending events. So the memory is limited even if a process maps files faster than tables are built. For each
  // pid, the engine receives an `ended` event first, because it concerns an earlier process, and the `mapped` event
  // last, because it takes longest.
  void put(std::vector<ProcessEvent> events);

  // put_so_far() returns how many events were put. taken() returns the largest n such that each of the first n events
  // has reached the engine or was replaced by a newer event.
  [[nodiscard]] uint64_t put_so_far() const { return put_; }
  [[nodiscard]] uint64_t taken() const;

  // The descriptor is readable if the engine has received an event since the last clear_fd().
  [[nodiscard]] int fd() const { return event_.get(); }
  void clear_fd() const;

 private:
  struct Pending {
    uint64_t first = 0;
    bool ended = false;
    std::optional<gpuprof_python_layout> python;
    std::shared_ptr<const symbolize::ProcessMaps> maps;
  };

  void loop();
  void add(ProcessEvent event);
  void tell(uint32_t pid, const Pending& pending);

  ProcessListener& engine_;
  UniqueFd event_;
  uint64_t put_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<uint32_t> queue_;  // pids, each once, in the order of their oldest events
  std::unordered_map<uint32_t, Pending> pending_;
  // Pending::first of the process whose events the engine is receiving; 0: the thread is idle.
  uint64_t delivering_ = 0;
  bool stop_ = false;
  std::thread thread_;  // last member, because the thread uses the others
};

}  // namespace gpuprof::record
