// Runs one poll iteration: accepts processes, reads the sources and the stack engine, and passes their events to the
// join.
#pragma once

#include <poll.h>

#include <memory>
#include <vector>

#include "record/bpf/off_cpu_engine.h"
#include "record/bpf/process_feed.h"
#include "record/ipc/channel.h"
#include "record/join/correlator.h"
#include "record/memory_budget.h"
#include "record/session/local_sources.h"
#include "record/session/waiting_processes.h"

namespace gpuprof::record {

class PollIteration {
 public:
  // All references must outlive this object. `engine` and `off_cpu` may be null.
  PollIteration(Channel& channel, LocalSources& sources, Correlator& correlator, StackEngine* engine,
                OffCpuEngine* off_cpu, MemoryBudget& memory);

  // Does not wait. Returns the amount of input, as a sum of bytes and events. 0: nothing has arrived.
  size_t take();

  void add_poll_fds(std::vector<pollfd>& fds) const;

  [[nodiscard]] bool ever_connected() const { return ever_connected_; }

  // These two functions run poll iterations for a few seconds at most. flush_targets() ends when live processes have
  // sent all their records. retract_libraries() returns true if all injected libraries have left.
  void flush_targets();
  bool retract_libraries();

  void leave_engine();

 private:
  void feed_engine();
  void forget_stacks();
  size_t drain_off_cpu();
  void take_until(bool (Channel::*done)() const, uint64_t wait_ns);

  Channel& channel_;
  LocalSources& sources_;
  Correlator& correlator_;
  MemoryBudget& memory_;
  StackEngine* engine_;
  OffCpuEngine* off_cpu_;
  uint64_t off_cpu_lost_ = 0;
  std::unique_ptr<ProcessFeed> feed_;  // null without an engine
  WaitingProcesses held_;
  bool ever_connected_ = false;
};

}  // namespace gpuprof::record
