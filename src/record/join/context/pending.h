// Queues events whose launch, name or stack has not arrived, and retries them in each poll iteration, up to a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/event_sink.h"

namespace gpuprof::record {

// Which missing data an event may still wait for.
enum class RetryPolicy : uint8_t {
  first_try,  // wait for anything: a ring read later in this poll iteration may contain the data
  retry,      // all rings have been read, but launches, names and stacks from other CPUs may still arrive
  last_try,   // do not wait: take the event without the missing data
};

// Different CPUs fill the BPF ring and the target's rings, so an event may arrive before the one that it refers to. It
// is then retried once per poll iteration (a few ms).
constexpr unsigned kMaxRetries = 50;
constexpr size_t kMaxPending = 200'000;

// `Event` has a LaunchSite `site`. `take(event, policy)` returns false if the event must wait (never with last_try).
template <typename Event>
class Pending {
 public:
  template <typename Take>
  void take_or_keep(const Event& event, RetryPolicy policy, Take take) {
    if (!take(event, events_.size() < kMaxPending ? policy : RetryPolicy::last_try)) {
      events_.push_back({event});
    }
  }

  // `last`: missing data will not arrive. `only`: retry only events of this source (0: of all sources).
  template <typename Take>
  void retry_pending(bool last, backend::SourceId only, Take take) {
    std::erase_if(events_, [&](Entry& entry) {
      if (only != 0 && entry.event.site.source != only) {
        return false;
      }
      const bool again = !last && ++entry.retries < kMaxRetries;
      return take(entry.event, again ? RetryPolicy::retry : RetryPolicy::last_try);
    });
  }

 private:
  struct Entry {
    Event event;
    unsigned retries = 0;
  };
  std::vector<Entry> events_;
};

}  // namespace gpuprof::record
