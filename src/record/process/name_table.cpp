#include "record/process/name_table.h"

namespace gpuprof::record {
namespace {

constexpr size_t kOverhead = 128;  // estimated memory per entry besides the text

}  // namespace

NameIndex NameTable::add(std::string_view text) {
  const auto [entry, made] = indices_.emplace(std::string(text), static_cast<NameIndex>(by_index_.size() + 1));
  if (made) {
    by_index_.push_back(&entry->first);
    new_.push_back({entry->second, entry->first});
    bytes_ += text.size() + kOverhead;
  }
  return entry->second;
}

NameIndex NameTable::intern(std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  if (const auto known = indices_.find(text); known != indices_.end()) {
    return known->second;
  }
  const bool fits = bytes_ + text.size() + kOverhead <= max_bytes_ && MemoryBudget::admits(memory_);
  return add(fits ? text : kMoreNames);
}

}  // namespace gpuprof::record
