// The sources in the recorder's own process: started before the target runs, and stopped whatever happens.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "base/result.h"

namespace gpuprof::record {

class LocalSources {
 public:
  // Whether there is anything to start.
  static bool are_in(const backend::Backends& backends);

  LocalSources() = default;
  ~LocalSources() { stop(); }
  LocalSources(const LocalSources&) = delete;
  LocalSources& operator=(const LocalSources&) = delete;

  // All of `backends` that are local. After an error those that had started are stopped again. What is given lives
  // until stop().
  Status start(const backend::Backends& backends, const backend::Recording& recording);

  void set_recording(bool on);
  size_t drain();
  void stop();

  // Whether there was anything to start.
  [[nodiscard]] bool were_any() const { return were_any_; }

 private:
  std::vector<backend::Backend*> running_;
  bool were_any_ = false;
};

}  // namespace gpuprof::record
