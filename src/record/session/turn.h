// One turn of the drain: who has come, what the sources and the stack engine have to say, and how that is joined.
#pragma once

#include <poll.h>

#include <memory>
#include <vector>

#include "record/bpf/process_feed.h"
#include "record/ipc/channel.h"
#include "record/join/correlator.h"
#include "record/memory_budget.h"
#include "record/session/held_processes.h"
#include "record/session/local_sources.h"

namespace gpuprof::record {

class Turn {
 public:
  // All of it lives longer. `engine` may be null.
  Turn(Channel& channel, LocalSources& sources, Correlator& correlator, StackEngine* engine, MemoryBudget& memory);

  // Does not wait. Returns how much there was, in bytes or events.
  size_t take();

  void add_poll_fds(std::vector<pollfd>& fds) const;

  // Some process has connected.
  [[nodiscard]] bool ever_connected() const { return ever_connected_; }

  // Both take turns until it has happened, for some seconds at most. Processes that go on without us hand over what
  // they still hold; libraries that were brought in leave their processes (false: not all of them have).
  void flush_targets();
  bool retract_libraries();

  // From here on there are no stacks of the engine.
  void leave_engine();

 private:
  void feed_engine();
  void forget_stacks();
  void take_until(bool (Channel::*done)() const, uint64_t wait_ns);

  Channel& channel_;
  LocalSources& sources_;
  Correlator& correlator_;
  MemoryBudget& memory_;
  StackEngine* engine_;
  std::unique_ptr<ProcessFeed> feed_;  // with an engine
  HeldProcesses held_;
  bool ever_connected_ = false;
};

}  // namespace gpuprof::record
