#include "record/join/launches/launch_table.h"

#include <algorithm>

namespace gpuprof::record {
namespace {

constexpr size_t kMaxStale = LaunchTable::kMaxEntries / 4;
constexpr size_t kCompactAbove = 4096;

}  // namespace

void LaunchTable::insert(backend::SourceId source, uint64_t correlation, const PendingLaunch& launch) {
  const Key key{source, correlation};
  evict();
  launches_[key] = launch;
  if (launch.matched) {
    matched_.push_back({key, launch.time_ns, launch.keep_until_ns});
  } else {
    waiting_.push_back({key, launch.time_ns, 0});
  }
}

// Limits the table at each insert, because millions of launches may arrive between two calls of expire().
void LaunchTable::evict() {
  for (auto* queue : {&stale_, &waiting_, &matched_}) {
    for (; launches_.size() > max_entries() && !queue->empty(); queue->pop_front()) {
      const PendingLaunch* const found = launches_.find(queue->front().key);
      if (found != nullptr && found->time_ns == queue->front().time_ns) {
        launches_.erase(queue->front().key);
      }
    }
  }
  if (launches_.size() > max_entries()) {
    // No queue lists these launches, because compact() has dropped their entries.
    launches_.clear();
  }
  compact();
}

PendingLaunch* LaunchTable::find(backend::SourceId source, uint64_t correlation) {
  return launches_.find({source, correlation});
}

void LaunchTable::match(backend::SourceId source, uint64_t correlation, PendingLaunch& launch, uint64_t keep_until_ns) {
  if (keep_until_ns == 0) {
    erase(source, correlation);
    return;
  }
  if (!launch.matched) {
    launch.matched = true;
    matched_.push_back({{source, correlation}, launch.time_ns, keep_until_ns});
  }
  launch.keep_until_ns = keep_until_ns;
}

void LaunchTable::erase(backend::SourceId source, uint64_t correlation) {
  launches_.erase({source, correlation});
}

bool LaunchTable::still_waits(const Queued& queued) const {
  const PendingLaunch* const found = launches_.find(queued.key);
  return found != nullptr && !found->matched && found->time_ns == queued.time_ns;
}

std::vector<LaunchTable::Waiting> LaunchTable::waiting(backend::SourceId source) const {
  std::vector<Waiting> found;
  for (const auto& [key, launch] : launches_) {
    if ((source == 0 || key.source == source) && !launch.matched && !launch.orphan) {
      found.push_back({key.source, key.number, launch.time_ns});
    }
  }
  return found;
}

void LaunchTable::expire(uint64_t now_ns) {
  expire_waiting(now_ns);
  expire_matched(now_ns);
  compact();
}

void LaunchTable::expire_waiting(uint64_t now_ns) {
  for (; !waiting_.empty(); waiting_.pop_front()) {
    const Queued& first = waiting_.front();
    if (!still_waits(first)) {
      continue;
    }
    if (launches_.size() > max_entries()) {
      launches_.erase(first.key);
    } else if (first.time_ns + kHoldNs <= now_ns) {
      stale_.push_back(first);
    } else {
      break;
    }
  }
  for (; stale_.size() > kMaxStale; stale_.pop_front()) {
    if (still_waits(stale_.front())) {
      launches_.erase(stale_.front().key);
    }
  }
}

void LaunchTable::expire_matched(uint64_t now_ns) {
  while (!matched_.empty() && (matched_.front().next_check_ns <= now_ns || launches_.size() > max_entries())) {
    const Queued first = matched_.front();
    matched_.pop_front();
    const PendingLaunch* const found = launches_.find(first.key);
    if (found == nullptr || !found->matched || found->time_ns != first.time_ns) {
      continue;
    }
    if (const uint64_t until = found->keep_until_ns; until > now_ns && launches_.size() <= max_entries()) {
      matched_.push_back({first.key, first.time_ns, until});
    } else {
      launches_.erase(first.key);
    }
  }
}

// Drops the queue entries of removed launches. Such entries accumulate behind a launch that still waits.
void LaunchTable::compact() {
  for (auto* queue : {&waiting_, &stale_, &matched_}) {
    if (queue->size() <= kCompactAbove + 4 * launches_.size()) {
      continue;
    }
    std::erase_if(*queue, [&](const Queued& queued) {
      return queue == &matched_ ? !launches_.contains(queued.key) : !still_waits(queued);
    });
    // If a launch is reported repeatedly with the same time, erase_if() keeps all its entries. Drop the oldest ones.
    while (queue->size() > kCompactAbove / 2 + 2 * launches_.size()) {
      queue->pop_front();
    }
  }
}

void LaunchTable::end_source(backend::SourceId source) {
  launches_.erase_if([source](const auto& entry) { return entry.first.source == source; });
  for (auto* queue : {&waiting_, &stale_, &matched_}) {
    std::erase_if(*queue, [source](const Queued& queued) { return queued.key.source == source; });
  }
}

uint64_t LaunchTable::oldest_waiting(uint64_t now_ns) const {
  return waiting_.empty() ? now_ns : std::min(now_ns, waiting_.front().time_ns);
}

}  // namespace gpuprof::record
