// Assigns consecutive ids to distinct keys.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/slot_table.h"

namespace gpuprof::profile {

template <size_t kWords>
class KeyIds {
 public:
  using Key = std::array<uint64_t, kWords>;

  // Returns the id of the key and whether it is new. The first key gets the id 1.
  std::pair<uint32_t, bool> intern(const Key& key) {
    const uint64_t h = hash(key);
    const size_t at = slots_.find(h, [&](uint32_t position) { return keys_[position] == key; });
    if (slots_.position(at) != SlotTable::kEmpty) {
      return {slots_.position(at) + 1, false};
    }
    const auto position = static_cast<uint32_t>(keys_.size());
    keys_.push_back(key);
    slots_.put(at, h, position);
    return {position + 1, true};
  }

 private:
  [[nodiscard]] uint64_t hash(const Key& key) const {
    uint64_t h = seed_;
    for (const uint64_t word : key) {
      h = fold_multiply(h ^ word, kHashMultiplier);
    }
    return h;
  }

  std::vector<Key> keys_;
  SlotTable slots_;
  uint64_t seed_ = random_seed();  // random, because a file could otherwise choose keys that all have the same slot
};

}  // namespace gpuprof::profile
