// New processes that wait in their handshake until the stack engine is ready for them.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/event_sink.h"
#include "record/bpf/process_feed.h"
#include "record/ipc/channel.h"
#include "record/join/correlator.h"

namespace gpuprof::record {

class HeldProcesses {
 public:
  // Takes those that the channel has held since the last call, and lets go whoever the engine is ready for (null: there
  // is none), or who has waited too long: the first stacks of those are cut, which is said. Does not wait.
  void update(Channel& channel, const ProcessFeed* feed, Correlator& correlator);

 private:
  struct Held {
    backend::SourceId source = 0;
    uint64_t after = 0;  // so many pieces of news have reached the engine
    uint64_t until_ns = 0;
  };
  std::vector<Held> held_;
};

}  // namespace gpuprof::record
