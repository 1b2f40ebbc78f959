#include "record/join/timeline.h"

namespace gpuprof::record {

bool Timeline::admit(size_t lines) {
  const bool fits = lines < kMaxTimelineLines && !join_.memory().is_limited();
  if (join_.options.timeline && !fits) {
    join_.counters.timeline_full();
  }
  return join_.options.timeline && fits;
}

void Timeline::on_call(backend::SourceId source, const backend::Call& call) {
  if (admit(calls_.size() + new_calls_.size())) {
    calls_.emplace_back(source, call);
  }
}

void Timeline::on_span(backend::SourceId source, const backend::Span& span) {
  if (admit(spans_.size() + new_spans_.size())) {
    spans_.emplace_back(source, span);
  }
}

void Timeline::end_iteration(Launches& launches, Stacks& stacks) {
  for (const auto& [id, call] : calls_) {
    if (Source* source = producers_.find(id); source != nullptr) {
      add(*source, call, launches.find(id, call.correlation), stacks);
    }
  }
  calls_.clear();
  for (const auto& [id, span] : spans_) {
    if (Source* source = producers_.find(id); source != nullptr) {
      new_spans_.push_back(
          {source->process(), span.tid, producers_.range(*source, span.range), span.start_ns, span.end_ns});
    }
  }
  spans_.clear();
}

void Timeline::add(Source& source, const backend::Call& call, const PendingLaunch* launch, Stacks& stacks) {
  if (join_.options.duty_cycle && !windows_.contains(launch == nullptr ? call.start_ns : launch->time_ns)) {
    return;
  }
  NewCall made;
  made.call.process = source.process();
  made.call.tid = launch == nullptr || launch->tid == 0 ? call.tid : launch->tid;
  made.call.correlation = call.correlation;
  // A latency begins at the time of the launch, so the call does, too. Each backend reads its own time at another
  // place.
  const bool has_time = launch != nullptr && launch->time_ns != 0 && launch->time_ns <= call.end_ns;
  made.call.start_ns = has_time ? launch->time_ns : call.start_ns;
  made.call.end_ns = call.end_ns;
  made.call.function = name_id(source.name(call.name_id));
  made.stack = launch == nullptr ? 0 : stacks.use(*source.image, launch->stack);
  new_calls_.push_back(made);
}

void Timeline::take_new(Batch& batch) {
  batch.calls = std::exchange(new_calls_, {});
  batch.spans = std::exchange(new_spans_, {});
}

}  // namespace gpuprof::record
