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
  // Takes newly held processes. Releases those for which the engine is ready (`feed` null: no engine). Also releases
  // those that waited too long, and records that their first stacks are truncated. Does not wait.
  void update(Channel& channel, const ProcessFeed* feed, Correlator& correlator);

 private:
  struct Held {
    backend::SourceId source = 0;
    uint64_t after = 0;  // release the process once the engine has received this many events
    uint64_t until_ns = 0;
  };
  std::vector<Held> held_;
};

}  // namespace gpuprof::record
