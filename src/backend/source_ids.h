// Gives numbers to the sources of a recording. The channel and the local backends share one object.
#pragma once

#include <functional>
#include <utility>

#include "backend/event_sink.h"

namespace gpuprof::backend {

class SourceIds {
 public:
  // `admit` returns whether the recording accepts another process. Empty: always.
  explicit SourceIds(std::function<bool()> admit = {}) : admit_(std::move(admit)) {}

  // If it returns false, the work of the process belongs to no process.
  [[nodiscard]] bool admit_process() const { return !admit_ || admit_(); }
  [[nodiscard]] SourceId make() { return next_++; }

 private:
  std::function<bool()> admit_;
  SourceId next_ = 1;
};

}  // namespace gpuprof::backend
