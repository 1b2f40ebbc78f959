#include "profile/version1.h"

#include "base/hash.h"

namespace gpuprof::profile {
namespace {

constexpr size_t kFirstSlots = 1024;

uint32_t tag_of(uint64_t h) {
  return static_cast<uint32_t>(h >> 32U);
}

}  // namespace

Version1Works::Version1Works() : slots_(kFirstSlots), seed_(random_seed()) {}

Version1Works::Key Version1Works::key_of(const Work& work) {
  return {.process = work.process,
          .thread = work.thread,
          .ustack = work.ustack,
          .kstack = work.kstack,
          .device = work.device,
          .name = work.name,
          .stream = work.stream,
          .op = work.op};
}

uint64_t Version1Works::hash(const Key& key) const {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15U;
  uint64_t h =
      fold_multiply(seed_ ^ join_ids(index(key.process), index(key.name)), kOdd ^ static_cast<uint8_t>(key.op));
  h = fold_multiply(h ^ join_ids(index(key.ustack), index(key.kstack)), kOdd ^ key.stream);
  return fold_multiply(h ^ join_ids(index(key.thread), index(key.device)), kOdd);
}

size_t Version1Works::find(const Key& key, uint64_t h) const {
  const size_t mask = slots_.size() - 1;
  size_t at = h & mask;
  while (slots_[at].id != 0 && !(slots_[at].tag == tag_of(h) && keys_[slots_[at].id - 1] == key)) {
    at = (at + 1) & mask;
  }
  return at;
}

std::pair<WorkId, bool> Version1Works::intern(const Work& work) {
  const Key key = key_of(work);
  const uint64_t h = hash(key);
  const size_t at = find(key, h);
  if (slots_[at].id != 0) {
    return {WorkId{slots_[at].id}, false};
  }
  keys_.push_back(key);
  slots_[at] = {static_cast<uint32_t>(keys_.size()), tag_of(h)};
  if (keys_.size() * 2 > slots_.size()) {
    grow();
  }
  return {WorkId{static_cast<uint32_t>(keys_.size())}, true};
}

void Version1Works::forget(const Work& work) {
  const Key key = key_of(work);
  slots_[find(key, hash(key))] = {};  // no other key's search goes over it, as it is the last one
  keys_.pop_back();
}

void Version1Works::grow() {
  slots_.assign(slots_.size() * 2, Slot{});
  for (size_t i = 0; i < keys_.size(); ++i) {
    const uint64_t h = hash(keys_[i]);
    slots_[find(keys_[i], h)] = {static_cast<uint32_t>(i + 1), tag_of(h)};
  }
}

}  // namespace gpuprof::profile
