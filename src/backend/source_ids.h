// Gives numbers to the sources of a recording. The channel and the local backends share one object.
#pragma once

#include "backend/event_sink.h"

namespace gpuprof::backend {

class SourceIds {
 public:
  [[nodiscard]] SourceId make() { return next_++; }

 private:
  SourceId next_ = 1;
};

}  // namespace gpuprof::backend
