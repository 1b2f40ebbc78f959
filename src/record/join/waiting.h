// Events that wait for what they refer to: a launch, a name, a stack. Each is tried again once a turn, but not for
// ever.
#pragma once

#include <vector>

#include "backend/event_sink.h"
#include "record/join/patience.h"

namespace gpuprof::record {

// Of events with a LaunchSite `site`. `take(event, patience)` accounts for one, and is false where it has to wait; with
// Patience::none it never is.
template <typename Event>
class Waiting {
 public:
  template <typename Take>
  void take_or_wait(const Event& event, Patience patience, Take take) {
    if (!take(event, events_.size() < kMaxWaiting ? patience : Patience::none)) {
      events_.push_back({event});
    }
  }

  // `last`: what is missing will not come. `only`: the events of this source (0: of all).
  template <typename Take>
  void settle(bool last, backend::SourceId only, Take take) {
    std::erase_if(events_, [&](Entry& entry) {
      if (only != 0 && entry.event.site.source != only) {
        return false;
      }
      const bool patient = !last && ++entry.turns < kMaxTurns;
      return take(entry.event, patient ? Patience::settled : Patience::none);
    });
  }

 private:
  struct Entry {
    Event event;
    unsigned turns = 0;
  };
  std::vector<Entry> events_;
};

}  // namespace gpuprof::record
