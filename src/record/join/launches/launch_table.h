// A bounded table of launches that wait for their GPU work. It also holds other calls with a stack.
#pragma once

#include <cstdint>
#include <deque>
#include <memory_resource>
#include <unordered_map>
#include <vector>

#include "backend/event_sink.h"
#include "base/recent_map.h"
#include "record/join/context/owned_id.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

struct PendingLaunch {
  uint64_t stack = 0;  // Stacks::Number; 0: no stack
  uint64_t time_ns = 0;
  uint32_t thread = 0;  // NameIndex
  uint32_t tid = 0;
  uint32_t range = 0;
  // True if work of the launch has arrived, but the launch record has not.
  bool orphan = false;
  bool matched = false;
  uint64_t keep_until_ns = 0;  // until this time, more work of the launch may arrive
};

class LaunchTable {
 public:
  static constexpr size_t kMaxEntries = 1'000'000;
  static constexpr size_t kFewEntries = 100'000;       // limit while the memory budget is used up
  static constexpr uint64_t kHoldNs = 60'000'000'000;  // Occupancy does not wait for the work of older launches

  explicit LaunchTable(MemoryBudget* memory = nullptr) : memory_(memory) {}

  // Replaces an older launch with the same id. Such a launch is over, because ids are reused only after they wrap
  // around.
  void insert(backend::SourceId source, uint64_t correlation, const PendingLaunch& launch);
  [[nodiscard]] PendingLaunch* find(backend::SourceId source, uint64_t correlation);

  // Call it when work of the launch has arrived. If `keep_until_ns` is 0, removes the launch. Otherwise keeps it for
  // more work until that time.
  void match(backend::SourceId source, uint64_t correlation, PendingLaunch& launch, uint64_t keep_until_ns);
  void erase(backend::SourceId source, uint64_t correlation);

  struct Waiting {
    backend::SourceId source;
    uint64_t correlation;
    uint64_t time_ns;
  };
  // Returns the launches of the source (0: of all sources) that wait for work.
  [[nodiscard]] std::vector<Waiting> waiting(backend::SourceId source) const;

  void expire(uint64_t now_ns);
  void end_source(backend::SourceId source);

  // Returns the time of the oldest launch that waits for work and is not older than kHoldNs, or `now_ns` if no launch
  // waits.
  [[nodiscard]] uint64_t oldest_waiting(uint64_t now_ns) const;
  [[nodiscard]] size_t size() const { return launches_.size(); }
  [[nodiscard]] bool has_headroom() const { return launches_.size() <= max_entries() / 2; }
  [[nodiscard]] size_t queued() const { return waiting_.size() + stale_.size() + matched_.size(); }

 private:
  using Key = OwnedId;
  struct Queued {
    Key key;
    // Time of the launch. If the table's launch with this key has another time, the id has been reused.
    uint64_t time_ns;
    uint64_t next_check_ns;  // only in matched_: when to check the launch again
  };
  [[nodiscard]] bool still_waits(const Queued& queued) const;
  [[nodiscard]] size_t max_entries() const { return MemoryBudget::limits(memory_) ? kFewEntries : kMaxEntries; }
  void evict();
  void expire_waiting(uint64_t now_ns);
  void expire_matched(uint64_t now_ns);
  void compact();

  MemoryBudget* memory_;
  // A pool makes inserts and removals cheap. There can be several hundred thousand of them per second.
  std::pmr::unsynchronized_pool_resource pool_;
  RecentMap<std::pmr::unordered_map<Key, PendingLaunch, OwnedIdHash>> launches_{&pool_};
  std::deque<Queued> waiting_;  // in order of arrival; entries of removed launches may remain
  std::deque<Queued> stale_;
  std::deque<Queued> matched_;
};

}  // namespace gpuprof::record
