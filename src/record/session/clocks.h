// The clocks of the GPUs while they work, as META lines: what a slower run may be owed to.
#pragma once

#include "backend/backend.h"
#include "record/join/correlator.h"

namespace gpuprof::record {

class Clocks {
 public:
  // Each turn. Nothing is watched until a process has a device of which clocks may be known.
  void look(const Correlator& correlator, const backend::Backends& backends);

  void finish(Correlator& correlator, const backend::Backends& backends);

 private:
  bool watching_ = false;
};

}  // namespace gpuprof::record
