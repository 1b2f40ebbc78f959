// Holds new processes in their handshake until the stack engine is ready for them.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/event_sink.h"
#include "record/bpf/process_feed.h"
#include "record/ipc/channel.h"
#include "record/join/correlator.h"

namespace gpuprof::record {

class WaitingProcesses {
 public:
  // Adds the processes that have begun to wait. Releases each process when the engine is ready for it (`feed` null: no
  // engine), or after kHoldNs. In the second case, records that the first stacks of the process are truncated. Does not
  // block.
  void update(Channel& channel, const ProcessFeed* feed, Correlator& correlator);

 private:
  struct Held {
    backend::SourceId source = 0;
    uint64_t after = 0;  // the process is released once the engine has received this many events
    uint64_t until_ns = 0;
  };
  std::vector<Held> held_;
};

}  // namespace gpuprof::record
