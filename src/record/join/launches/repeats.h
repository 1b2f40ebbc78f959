// Remembers to which work the nodes of graphs belong. Replays of a graph repeat the same work up to a million times a
// second, and finding it takes many lookups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profile/records.h"
#include "record/batch.h"
#include "record/join/context/work_event.h"
#include "record/join/launches/launch_table.h"

namespace gpuprof::record {

class Repeats {
 public:
  struct Work {
    WorkKey key;
    profile::WorkId id{};
  };

  // Returns null if the work is unknown.
  [[nodiscard]] const Work* find(const LaunchSite& site, const PendingLaunch* launch) const;
  // Stores a work that has its kernel's name and both of its stacks. Ignores all others, because they may change.
  void add(const LaunchSite& site, const PendingLaunch* launch, const Work& work);
  void forget() { ++generation_; }

 private:
  // All that decides to which work a node belongs.
  struct Site {
    uint64_t node = 0;
    uint64_t stack = 0;
    uint64_t stream = 0;
    backend::SourceId source = 0;
    uint32_t device = 0;
    uint32_t name_id = 0;
    uint32_t tid = 0;
    uint32_t thread = 0;
    uint32_t range = 0;
    profile::Op op = profile::Op::kernel;
    bool operator==(const Site&) const = default;
  };
  struct Entry {
    Site site;
    Work work;
    uint64_t generation = 0;
  };
  static constexpr size_t kEntries = 16'384;

  static bool may_repeat(const LaunchSite& site, const PendingLaunch* launch);
  static Site site_of(const LaunchSite& site, const PendingLaunch& launch);
  static size_t place_of(const Site& site);

  std::vector<Entry> entries_;  // empty until the first node
  uint64_t generation_ = 1;
};

}  // namespace gpuprof::record
