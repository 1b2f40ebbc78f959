// Launches, or other calls with a stack, that wait for what they caused. Bounded whatever a target does.
#pragma once

#include <cstdint>
#include <deque>
#include <memory_resource>
#include <unordered_map>

#include "backend/event_sink.h"
#include "record/join/context/owned_id.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

struct PendingLaunch {
  uint64_t stack = 0;
  uint64_t time_ns = 0;  // of the call
  uint32_t thread = 0;   // NameIndex
  uint32_t tid = 0;
  uint32_t range = 0;          // wire id
  bool orphan = false;         // the launch itself is not known, only work of it
  bool matched = false;        // something that it caused has come, and ...
  uint64_t keep_until_ns = 0;  // ... more may come until then
};

class LaunchTable {
 public:
  static constexpr size_t kMaxEntries = 1'000'000;
  static constexpr size_t kFewEntries = 100'000;       // beyond the memory budget
  static constexpr uint64_t kHoldNs = 60'000'000'000;  // an older launch holds nothing back any more

  explicit LaunchTable(MemoryBudget* memory = nullptr) : memory_(memory) {}

  // An unmatched launch with the same id is gone for good: ids wrap around.
  void insert(backend::SourceId source, uint64_t correlation, const PendingLaunch& launch);
  [[nodiscard]] PendingLaunch* find(backend::SourceId source, uint64_t correlation);

  // What the launch caused has come. The entry goes, or is kept until `keep_until_ns` because more may come.
  void match(backend::SourceId source, uint64_t correlation, PendingLaunch& launch, uint64_t keep_until_ns);
  void erase(backend::SourceId source, uint64_t correlation);

  void expire(uint64_t now_ns);
  void end_source(backend::SourceId source);

  // Time of the oldest launch that waits, of those that are younger than kHoldNs; `now_ns` when there is none. As of
  // the last expire().
  [[nodiscard]] uint64_t oldest_waiting(uint64_t now_ns) const;
  [[nodiscard]] size_t size() const { return launches_.size(); }
  // No more than half of what it holds at most.
  [[nodiscard]] bool is_roomy() const { return launches_.size() <= max_entries() / 2; }
  [[nodiscard]] size_t queued() const { return waiting_.size() + stale_.size() + matched_.size(); }

 private:
  using Key = OwnedId;  // by correlation id
  struct Queued {
    Key key;
    uint64_t time_ns;  // of the launch: another one may have its key by now
    uint64_t look_ns;  // of matched_: when to look at it again
  };
  [[nodiscard]] bool still_waits(const Queued& queued) const;
  [[nodiscard]] size_t max_entries() const { return MemoryBudget::limits(memory_) ? kFewEntries : kMaxEntries; }
  void make_room();
  void expire_waiting(uint64_t now_ns);
  void expire_matched(uint64_t now_ns);
  void compact();

  MemoryBudget* memory_;
  std::pmr::unsynchronized_pool_resource pool_;  // they come and go by the hundred thousand a second
  std::pmr::unordered_map<Key, PendingLaunch, OwnedIdHash> launches_{&pool_};
  std::deque<Queued> waiting_;  // in the order of their arrival; some of them have gone
  std::deque<Queued> stale_;    // those that were still waiting after kHoldNs
  std::deque<Queued> matched_;  // those that may be matched again
};

}  // namespace gpuprof::record
