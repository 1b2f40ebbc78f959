#include "record/join/work_set.h"

namespace gpuprof::record {
namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 32);
}

// Whether `value` is among at most `limit` that are kept.
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
  uint64_t h = mix(key.stack, key.capture);
  h = mix(h, key.stream);
  h = mix(h, uint64_t{profile::index(key.device)} << 32 | profile::index(key.range));
  h = mix(h, uint64_t{key.tid} << 32 | key.thread);
  return mix(h, uint64_t{key.name} << 16 | static_cast<uint64_t>(key.op) << 8 | key.flags);
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
  if (!is_kept(threads_, uint64_t{key.tid} << 32 | key.thread, kMaxThreads)) {
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
