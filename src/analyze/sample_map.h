// Finds the row of a sample: an open-addressing hash table over the rows. Internal to aggregate.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/aggregate.h"
#include "base/hash.h"

namespace gpuprof::analyze {

class SampleMap {
 public:
  explicit SampleMap(std::vector<SampleRow>& rows) : rows_(rows), slots_(kFirstSlots), seed_(random_seed()) {}

  // Where a key is or belongs; for insert().
  struct Place {
    size_t slot = 0;
    uint32_t tag = 0;
  };

  // In a large table find() waits for memory twice. Where records are queued on their way to it, begin() and, a while
  // later, approach() let these waits pass in the background.
  [[nodiscard]] uint64_t begin(const SampleKey& key) const {
    const uint64_t h = hash(key);
    __builtin_prefetch(&slots_[h & (slots_.size() - 1)]);
    return h;
  }
  // Always inlined: gcc drops the call of a function whose only effect is a prefetch.
  [[gnu::always_inline]] void approach(uint64_t h) const {
    const Slot& slot = slots_[h & (slots_.size() - 1)];
    if (slot.row != kEmpty) {
      __builtin_prefetch(&rows_[slot.row], 1);
    }
  }

  // The key's row, or null. `h` is what begin() gave.
  SampleRow* find(const SampleKey& key, uint64_t h, Place& place) {
    const size_t mask = slots_.size() - 1;
    place.tag = static_cast<uint32_t>(h >> 32U);
    for (place.slot = h & mask; slots_[place.slot].row != kEmpty; place.slot = (place.slot + 1) & mask) {
      const Slot& slot = slots_[place.slot];
      if (slot.tag == place.tag && rows_[slot.row].key == key) {
        return &rows_[slot.row];
      }
    }
    return nullptr;
  }

  // Adds a row for a key that find() has not found. Invalidates other rows' addresses.
  SampleRow& insert(const SampleKey& key, const Place& place) {
    slots_[place.slot] = {static_cast<uint32_t>(rows_.size()), place.tag};
    rows_.push_back({.key = key});
    if (rows_.size() * 2 > slots_.size()) {
      grow();
    }
    return rows_.back();
  }

  [[nodiscard]] bool full() const { return rows_.size() >= kEmpty - 1; }

 private:
  static constexpr uint32_t kEmpty = UINT32_MAX;

  // The tag is part of the key's hash, so that a row of another key is hardly ever looked at.
  struct Slot {
    uint32_t row = kEmpty;
    uint32_t tag = 0;
  };
  static constexpr size_t kFirstSlots = 64;  // a power of two, as every size

  [[nodiscard]] uint64_t hash(const SampleKey& key) const {
    const uint64_t h = fold_multiply(seed_ ^ join_ids(index(key.work), index(key.place)), kHashMultiplier ^ key.flags);
    return fold_multiply(h ^ join_ids(index(key.reason), index(key.sampling)), kHashMultiplier);
  }

  void grow() {
    std::vector<Slot> before(slots_.size() * 2);
    before.swap(slots_);
    const size_t mask = slots_.size() - 1;
    for (const Slot& old : before) {
      if (old.row == kEmpty) {
        continue;
      }
      size_t slot = hash(rows_[old.row].key) & mask;
      while (slots_[slot].row != kEmpty) {
        slot = (slot + 1) & mask;
      }
      slots_[slot] = old;
    }
  }

  std::vector<SampleRow>& rows_;
  std::vector<Slot> slots_;
  uint64_t seed_;
};

}  // namespace gpuprof::analyze
