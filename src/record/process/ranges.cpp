#include "record/process/ranges.h"

namespace gpuprof::record {

profile::RangeId RangeTable::intern(profile::RangeId parent, NameIndex domain, NameIndex name) {
  const auto key = std::make_tuple(profile::index(parent), domain, name);
  if (const auto known = ids_.find(key); known != ids_.end()) {
    return known->second;
  }
  if (ids_.size() >= kMaxRanges || !MemoryBudget::admits(memory_)) {
    return parent;
  }
  const profile::RangeId id{static_cast<uint32_t>(ids_.size() + 1)};
  ids_.emplace(key, id);
  new_.push_back({id, parent, name_id(domain), name_id(name)});
  return id;
}

}  // namespace gpuprof::record
