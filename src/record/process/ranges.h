// Numbers paths of NVTX ranges. Replaces ids of sources by ids that all processes of the session share.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "record/batch.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

// The ranges of one source. The keys are the source's ids.
struct SourceRanges {
  static constexpr size_t kMaxRanges = 100'000;
  static constexpr int kMaxDepth = 128;
  std::unordered_map<uint32_t, backend::Range> told;
  std::unordered_map<uint32_t, profile::RangeId> resolved;
};

class RangeTable {
 public:
  static constexpr size_t kMaxRanges = 1'000'000;  // a range above this limit counts as its parent

  explicit RangeTable(MemoryBudget* memory = nullptr) : memory_(memory) {}

  // `name_of(id)` returns the NameIndex for a source's id of a name; 0: unknown. A range whose parent is unknown has no
  // parent.
  template <typename NameOf>
  profile::RangeId resolve(SourceRanges& source, uint32_t id, NameOf name_of, int depth = 0) {
    if (id == 0 || depth > SourceRanges::kMaxDepth) {
      return {};
    }
    if (const auto known = source.resolved.find(id); known != source.resolved.end()) {
      return known->second;
    }
    const auto told = source.told.find(id);
    if (told == source.told.end()) {
      return {};
    }
    const backend::Range range = told->second;
    const profile::RangeId parent = resolve(source, range.parent, name_of, depth + 1);
    const profile::RangeId made = intern(parent, name_of(range.domain_id), name_of(range.name_id));
    source.resolved[id] = made;
    return made;
  }

  std::vector<profile::Range> take_new() { return std::exchange(new_, {}); }

 private:
  profile::RangeId intern(profile::RangeId parent, NameIndex domain, NameIndex name);

  MemoryBudget* memory_;
  std::map<std::tuple<uint32_t, NameIndex, NameIndex>, profile::RangeId> ids_;
  std::vector<profile::Range> new_;
};

}  // namespace gpuprof::record
