#include "record/join/sums/work_set.h"

#include "base/hash.h"

namespace gpuprof::record {
namespace {

// Inserts `value` if `kept` holds fewer than `limit` values. Returns whether `kept` then contains `value`.
bool is_kept(std::unordered_set<uint64_t>& kept, uint64_t value, size_t limit) {
  if (kept.contains(value)) {
    return true;
  }
  if (kept.size() >= limit) {
    return false;
  }
  kept.insert(value);
  return true;
}

}  // namespace

size_t WorkSet::Hash::operator()(const WorkKey& key) const {
  uint64_t h = hash_of(key.stack ^ hash_of(key.capture));
  h = hash_of(h ^ key.stream);
  h = hash_of(h ^ join_ids(profile::index(key.device), profile::index(key.range)));
  h = hash_of(h ^ join_ids(key.tid, key.thread));
  return hash_of(h ^ (uint64_t{key.name} << 16U | static_cast<uint64_t>(key.op) << 8U | key.flags));
}

WorkKey WorkSet::bounded(WorkKey key, const MemoryBudget& memory) {
  if (works_.size() >= kMaxWorks || memory.is_limited()) {
    WorkKey rest;
    rest.process = key.process;
    if (!memory.is_full()) {
      rest.device = key.device;
      rest.name = key.name;
    }
    rest.op = key.op;
    rest.flags = key.flags;
    rest.stream = kOtherStreams;
    return rest;
  }
  if (!is_kept(streams_, key.stream, kMaxStreams)) {
    key.stream = kOtherStreams;
  }
  if (!is_kept(threads_, join_ids(key.tid, key.thread), kMaxThreads)) {
    key.tid = 0;
    key.thread = 0;
  }
  return key;
}

profile::WorkId WorkSet::intern(WorkKey& key, uint32_t& next_id, std::vector<NewWork>& made, MemoryBudget& memory) {
  if (const auto known = works_.find(key); known != works_.end()) {
    return known->second;
  }
  const WorkKey kept = bounded(key, memory);
  if (memory.is_limited() && kept != key) {
    memory.leave_out();
  }
  key.stack = kept.stack;
  key.capture = kept.capture;
  const auto [entry, is_new] = works_.try_emplace(kept, profile::WorkId{next_id});
  if (is_new) {
    ++next_id;
    made.push_back({entry->second, kept});
  }
  return entry->second;
}

}  // namespace gpuprof::record
