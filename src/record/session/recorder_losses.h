// What the recorder's own parts have lost. They count from the start, a batch says what has come since the last one.
#pragma once

#include "record/bpf/stack_engine.h"
#include "record/ipc/channel.h"
#include "record/join/correlator.h"

namespace gpuprof::record {

class RecorderLosses {
 public:
  void tell(const Channel& channel, const StackEngine* engine, Correlator& correlator);

 private:
  StackLosses engine_;
  uint64_t malformed_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace gpuprof::record
