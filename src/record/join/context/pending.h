// Events that refer to a launch, a name or a stack that has not arrived: pending. They are tried again once a turn, but
// not for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/event_sink.h"

namespace gpuprof::record {

// What an event may still be kept pending for.
enum class RetryPolicy : uint8_t {
  first_try,  // anything: the rings that are read later in this turn may have it
  retry,      // all rings have been read: only a launch or a name that another CPU hands over can still be missing
  last_try,   // nothing: the event is taken with what is known
};

// Turns of some milliseconds: the BPF ring buffer and the wire's rings are filled by different CPUs.
constexpr unsigned kMaxTurns = 50;
constexpr size_t kMaxPending = 200'000;

// `Event` has a LaunchSite `site`. `take(event, policy)` accounts for an event, or returns false if it has to wait;
// with RetryPolicy::last_try it never does.
template <typename Event>
class Pending {
 public:
  template <typename Take>
  void take_or_keep(const Event& event, RetryPolicy policy, Take take) {
    if (!take(event, events_.size() < kMaxPending ? policy : RetryPolicy::last_try)) {
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
      const bool again = !last && ++entry.turns < kMaxTurns;
      return take(entry.event, again ? RetryPolicy::retry : RetryPolicy::last_try);
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
