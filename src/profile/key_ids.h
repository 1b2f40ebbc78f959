// Numbers distinct keys: an open-addressing hash table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace gpuprof::profile {

template <size_t kWords>
class KeyIds {
 public:
  using Key = std::array<uint64_t, kWords>;

  KeyIds() : slots_(kFirstSlots), seed_(random_seed()) {}

  // The key's id, from 1 on, and whether it is new.
  std::pair<uint32_t, bool> intern(const Key& key) {
    const uint64_t h = hash(key);
    const size_t at = find(key, h);
    if (slots_[at].id != 0) {
      return {slots_[at].id, false};
    }
    keys_.push_back(key);
    const auto id = static_cast<uint32_t>(keys_.size());
    slots_[at] = {id, tag_of(h)};
    if (keys_.size() * 2 > slots_.size()) {
      grow();
    }
    return {id, true};
  }

 private:
  // The tag is part of the key's hash, so that another key is hardly ever looked at.
  struct Slot {
    uint32_t id = 0;  // index in keys_ + 1; 0: empty
    uint32_t tag = 0;
  };
  static constexpr size_t kFirstSlots = 64;  // a power of two, as every size

  static uint32_t tag_of(uint64_t h) { return static_cast<uint32_t>(h >> 32U); }

  [[nodiscard]] uint64_t hash(const Key& key) const {
    uint64_t h = seed_;
    for (const uint64_t word : key) {
      h = fold_multiply(h ^ word, kHashMultiplier);
    }
    return h;
  }

  // The slot of the key, or the empty one where it belongs.
  [[nodiscard]] size_t find(const Key& key, uint64_t h) const {
    const size_t mask = slots_.size() - 1;
    size_t at = h & mask;
    while (slots_[at].id != 0 && !(slots_[at].tag == tag_of(h) && keys_[slots_[at].id - 1] == key)) {
      at = (at + 1) & mask;
    }
    return at;
  }

  void grow() {
    slots_.assign(slots_.size() * 2, Slot{});
    for (size_t i = 0; i < keys_.size(); ++i) {
      const uint64_t h = hash(keys_[i]);
      slots_[find(keys_[i], h)] = {static_cast<uint32_t>(i + 1), tag_of(h)};
    }
  }

  std::vector<Key> keys_;
  std::vector<Slot> slots_;
  uint64_t seed_;  // keys come from a file: so it can not make them hit one slot
};

}  // namespace gpuprof::profile
