// Sends events about processes (started, mapped, ended) to the stack walker from a separate thread. Building the tables
// of a large library takes a second, and the main thread must drain the rings during that time.
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
  ~ProcessFeed();                                 // waits for the engine's current call; pending events are dropped
  ProcessFeed(const ProcessFeed&) = delete;
  ProcessFeed& operator=(const ProcessFeed&) = delete;

  // Queues events. A new event replaces a pending one of the same kind and process. The end of a process replaces all
  // its pending events. This bounds the memory if a process maps files faster than tables are built. For each pid, the
  // engine receives the end (of an earlier process) first. It receives the mappings last, because they take longest.
  void put(std::vector<ProcessEvent> events);

  // put_so_far() returns the number of events put. taken() returns the largest n such that each of the first n events
  // has reached the engine or was replaced by a newer event.
  [[nodiscard]] uint64_t put_so_far() const { return put_; }
  [[nodiscard]] uint64_t taken() const;

  // Readable once the engine has received an event since the last clear_fd().
  [[nodiscard]] int fd() const { return event_.get(); }
  void clear_fd() const;

 private:
  struct Pending {       // pending events of one process, in the order of delivery
    uint64_t first = 0;  // number of the oldest pending event
    bool ended = false;
    std::optional<gpuprof_python_layout> python;
    std::shared_ptr<const symbolize::ProcessMaps> maps;  // null: no new mappings
  };

  void loop();
  void add(ProcessEvent event);
  void tell(uint32_t pid, const Pending& pending);

  ProcessListener& engine_;
  UniqueFd event_;
  uint64_t put_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<uint32_t> queue_;  // pids, each once, ordered by their oldest event
  std::unordered_map<uint32_t, Pending> pending_;
  uint64_t delivering_ = 0;  // Pending::first of the process whose events the engine is receiving; 0: idle
  bool stop_ = false;
  std::thread thread_;  // declared last, because the thread uses the other members
};

}  // namespace gpuprof::record
