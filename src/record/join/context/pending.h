// Holds events whose launch, name or stack has not arrived. Retries them in each poll iteration, for a limited number
// of times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/event_sink.h"

namespace gpuprof::record {

// What an event may still wait for.
enum class RetryPolicy : uint8_t {
  // Wait for anything, because a ring that is read later in this poll iteration may contain the missing data.
  first_try,
  // All rings have been read. Launches, names and stacks from other CPUs may still arrive.
  retry,
  last_try,  // do not wait: take the event without the missing data
};

// Different CPUs fill the BPF ring and the target's rings, so an event may arrive before the data that it refers to.
// Then it is retried once per poll iteration (a few ms), up to this many times.
constexpr unsigned kMaxRetries = 50;
constexpr size_t kMaxPending = 200'000;

// `Event` must have a LaunchSite `site`. `take(event, policy)` returns false if the event must wait. With `last_try`,
// it must return true.
template <typename Event>
class Pending {
 public:
  template <typename Take>
  void take_or_keep(const Event& event, RetryPolicy policy, Take take) {
    if (!take(event, events_.size() < kMaxPending ? policy : RetryPolicy::last_try)) {
      events_.push_back({event});
    }
  }

  // `last`: missing data will not arrive. If `only` is not 0, retries only events of that source.
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
