// Who numbers the sources of a recording: the channel's and those in the recorder's own process share one count.
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
