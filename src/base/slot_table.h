// A hash table with open addressing. It holds positions in an array of the caller.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/large_vector.h"

namespace gpuprof {

// The caller computes the hashes and compares the keys. If a file chose the keys, the hashes must use a random seed.
class SlotTable {
 public:
  static constexpr uint32_t kEmpty = UINT32_MAX;

  [[nodiscard]] uint32_t position(size_t at) const { return slots_[at].position; }

  // Returns the slot with this hash for which `is_it(position)` holds, or the empty slot for a new entry.
  template <typename IsIt>
  [[nodiscard]] size_t find(uint64_t hash, IsIt is_it) const {
    size_t at = first(hash);
    while (slots_[at].position != kEmpty && !(slots_[at].tag == tag_of(hash) && is_it(slots_[at].position))) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  // Fills the empty slot that find() returned. No other put() may come between the two calls.
  void put(size_t at, uint64_t hash, uint32_t position) {
    slots_[at] = {position, tag_of(hash)};
    if (4 * ++used_ > 3 * slots_.size()) {
      grow();
    }
  }

  void replace(size_t at, uint32_t position) { slots_[at].position = position; }

  // Prepare a later find(): prefetch() loads its slot. Then likely_position() returns which array element to prefetch.
  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[first(hash)]); }
  [[nodiscard]] uint32_t likely_position(uint64_t hash) const { return slots_[first(hash)].position; }

 private:
  // The tag is the upper half of the hash. Its first bits determine the slot, so slots are sorted by tag, except
  // after collisions. So grow() fills the larger table in order, without reading the caller's array. The last bits of
  // the tag distinguish entries that have the same slot.
  struct Slot {
    uint32_t position = kEmpty;
    uint32_t tag = 0;
  };
  static constexpr size_t kFirstSlots = 64;  // all sizes are powers of two
  static constexpr size_t kMostSlots = size_t{1} << 32U;

  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32U); }
  [[nodiscard]] size_t first(uint64_t hash) const { return tag_of(hash) >> shift_; }

  void grow() {
    if (slots_.size() == kMostSlots) {
      return;  // the table already has slots for all possible positions
    }
    LargeVector<Slot> before(slots_.size() * 2);
    before.swap(slots_);
    --shift_;
    for (const Slot& old : before) {
      if (old.position != kEmpty) {
        size_t at = old.tag >> shift_;
        while (slots_[at].position != kEmpty) {
          at = (at + 1) & (slots_.size() - 1);
        }
        slots_[at] = old;
      }
    }
  }

  LargeVector<Slot> slots_ = LargeVector<Slot>(kFirstSlots);
  unsigned shift_ = 32U - std::countr_zero(kFirstSlots);
  size_t used_ = 0;
};

}  // namespace gpuprof
