// Stores calls and ranges for --timeline. They wait until all rings have been read, because their launch or name may
// arrive in another ring.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "record/batch.h"
#include "record/join/context/context.h"
#include "record/join/context/windows.h"
#include "record/join/launches/launches.h"
#include "record/join/launches/stacks.h"
#include "record/process/producers.h"

namespace gpuprof::record {

class Timeline {
 public:
  Timeline(JoinContext& join, Producers& producers, const Windows& windows)
      : join_(join), producers_(producers), windows_(windows) {}

  void on_call(backend::SourceId source, const backend::Call& call);
  void on_span(backend::SourceId source, const backend::Span& span);
  void end_iteration(Launches& launches, Stacks& stacks);

  [[nodiscard]] size_t waiting() const { return calls_.size() + new_calls_.size() + new_spans_.size(); }
  void take_new(Batch& batch);

 private:
  // Returns whether the timeline is on and has space for one more line. Counts a loss if it has no space.
  [[nodiscard]] bool admit(size_t lines);
  void add(Source& source, const backend::Call& call, const PendingLaunch* launch, Stacks& stacks);

  JoinContext& join_;
  Producers& producers_;
  const Windows& windows_;
  std::vector<std::pair<backend::SourceId, backend::Call>> calls_;
  std::vector<std::pair<backend::SourceId, backend::Span>> spans_;
  std::vector<NewCall> new_calls_;
  std::vector<profile::Span> new_spans_;
};

}  // namespace gpuprof::record
