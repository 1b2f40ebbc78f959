// A bounded table of launches, and of other calls with a stack, that wait for their GPU work.
#pragma once

#include <cstdint>
#include <deque>
#include <memory_resource>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "record/join/context/owned_id.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

struct PendingLaunch {
  uint64_t stack = 0;  // Stacks::Number; 0: no stack
  uint64_t time_ns = 0;
  uint32_t thread = 0;  // NameIndex
  uint32_t tid = 0;
  uint32_t range = 0;          // the source's range id
  bool orphan = false;         // only work of the launch has arrived; the launch record is missing
  bool matched = false;        // some work of the launch has arrived
  uint64_t keep_until_ns = 0;  // more work of the launch may arrive until this time
};

class LaunchTable {
 public:
  static constexpr size_t kMaxEntries = 1'000'000;
  static constexpr size_t kFewEntries = 100'000;       // limit on entries when the memory budget is used up
  static constexpr uint64_t kHoldNs = 60'000'000'000;  // Occupancy does not wait for the work of older launches

  explicit LaunchTable(MemoryBudget* memory = nullptr) : memory_(memory) {}

  // Replaces an older launch with the same id. Ids wrap around, so the older launch is over.
  void insert(backend::SourceId source, uint64_t correlation, const PendingLaunch& launch);
  [[nodiscard]] PendingLaunch* find(backend::SourceId source, uint64_t correlation);

  // Notes arrived work of the launch. Removes the launch, or keeps it for more work if `keep_until_ns` is not 0.
  void match(backend::SourceId source, uint64_t correlation, PendingLaunch& launch, uint64_t keep_until_ns);
  void erase(backend::SourceId source, uint64_t correlation);

  // Returns correlation id and time of each launch of the source that waits for work.
  [[nodiscard]] std::vector<std::pair<uint64_t, uint64_t>> waiting(backend::SourceId source) const;

  void expire(uint64_t now_ns);
  void end_source(backend::SourceId source);

  // Returns the time of the oldest launch that waits for work and is not older than kHoldNs. If none waits: `now_ns`.
  [[nodiscard]] uint64_t oldest_waiting(uint64_t now_ns) const;
  [[nodiscard]] size_t size() const { return launches_.size(); }
  // Returns whether the table is at most half full.
  [[nodiscard]] bool has_headroom() const { return launches_.size() <= max_entries() / 2; }
  [[nodiscard]] size_t queued() const { return waiting_.size() + stale_.size() + matched_.size(); }

 private:
  using Key = OwnedId;  // source and correlation id
  struct Queued {
    Key key;
    uint64_t time_ns;        // time of the launch; if the table's launch has another time, the key was reused
    uint64_t next_check_ns;  // in matched_: when to check the launch again
  };
  [[nodiscard]] bool still_waits(const Queued& queued) const;
  [[nodiscard]] size_t max_entries() const { return MemoryBudget::limits(memory_) ? kFewEntries : kMaxEntries; }
  void evict();
  void expire_waiting(uint64_t now_ns);
  void expire_matched(uint64_t now_ns);
  void compact();

  MemoryBudget* memory_;
  std::pmr::unsynchronized_pool_resource pool_;  // for several hundred thousand inserts and removals per second
  using Launches = std::pmr::unordered_map<Key, PendingLaunch, OwnedIdHash>;
  Launches launches_{&pool_};
  Launches::value_type* last_ = nullptr;  // result of the last find(): the nodes of a graph are work of one launch
  std::deque<Queued> waiting_;            // in order of arrival; the table may no longer contain some launches
  std::deque<Queued> stale_;              // launches that have waited longer than kHoldNs
  std::deque<Queued> matched_;            // launches that may get more work
};

}  // namespace gpuprof::record
