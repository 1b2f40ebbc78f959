#include "record/session/local_sources.h"

#include <algorithm>
#include <utility>

namespace gpuprof::record {

bool LocalSources::are_in(const backend::Backends& backends) {
  return std::any_of(backends.begin(), backends.end(), [](const auto& backend) { return backend->is_local(); });
}

Status LocalSources::start(const backend::Backends& backends, const backend::Recording& recording) {
  for (const auto& backend : backends) {
    if (!backend->is_local()) {
      continue;
    }
    if (Status started = backend->start(recording); !started) {
      stop();
      return started;
    }
    running_.push_back(backend.get());
    if (bpf_object* programs = backend->walking_programs(); programs != nullptr) {
      auto processes = std::make_unique<BpfProcesses>(programs, true);
      auto feed = std::make_unique<ProcessFeed>(*processes);
      walks_.push_back({std::move(processes), std::move(feed)});
    }
    were_any_ = true;
  }
  return {};
}

void LocalSources::set_recording(bool on) {
  for (backend::Backend* source : running_) {
    source->set_recording(on);
  }
}

size_t LocalSources::drain() {
  size_t events = 0;
  for (backend::Backend* source : running_) {
    events += source->drain();
  }
  return events;
}

void LocalSources::put(const std::vector<ProcessEvent>& events) {
  for (const Walk& walk : walks_) {
    walk.feed->put(events);
  }
}

std::vector<uint32_t> LocalSources::take_outdated() {
  std::vector<uint32_t> all;
  for (const Walk& walk : walks_) {
    const auto some = walk.processes->take_outdated();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

void LocalSources::stop() {
  walks_.clear();
  for (backend::Backend* source : std::exchange(running_, {})) {
    source->stop();
  }
}

}  // namespace gpuprof::record
