// Writes the clock frequencies of the GPUs under load to META lines, because a lower frequency can explain a slower
// run.
#pragma once

#include "backend/backend.h"
#include "record/join/correlator.h"

namespace gpuprof::record {

class Clocks {
 public:
  // Call it in each poll iteration. Starts watching the clocks when a process has a device with a UUID.
  void look(const Correlator& correlator, const backend::Backends& backends);

  void finish(Correlator& correlator, const backend::Backends& backends);

 private:
  bool watching_ = false;
};

}  // namespace gpuprof::record
