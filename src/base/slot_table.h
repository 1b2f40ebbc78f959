// Finds things that lie in an array of the caller's: an open-addressing hash table of their positions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/large_vector.h"

namespace gpuprof {

// The caller hashes, with a seed where the keys are a file's, and compares.
class SlotTable {
 public:
  static constexpr uint32_t kEmpty = UINT32_MAX;

  [[nodiscard]] uint32_t position(size_t at) const { return slots_[at].position; }

  // The slot of the thing with that hash for which `is_it(position)` holds, or the empty one where it belongs.
  template <typename IsIt>
  [[nodiscard]] size_t find(uint64_t hash, IsIt is_it) const {
    size_t at = first(hash);
    while (slots_[at].position != kEmpty && !(slots_[at].tag == tag_of(hash) && is_it(slots_[at].position))) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  // Into the empty slot that find() gave, with nothing put since.
  void put(size_t at, uint64_t hash, uint32_t position) {
    slots_[at] = {position, tag_of(hash)};
    if (4 * ++used_ > 3 * slots_.size()) {
      grow();
    }
  }

  // Another thing takes the place of one with the same hash.
  void replace(size_t at, uint32_t position) { slots_[at].position = position; }

  // The waits for memory of a find(), in the background: first of the slot, then of what it says where to find.
  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[first(hash)]); }
  [[nodiscard]] uint32_t likely_position(uint64_t hash) const { return slots_[first(hash)].position; }

 private:
  // The tag is the upper half of the hash. Its first bits say where a thing belongs: so the slots are in the order of
  // the tags, but for collisions, and a larger table is written from its beginning to its end without a look at the
  // things themselves. Its last bits tell apart what belongs to one slot.
  struct Slot {
    uint32_t position = kEmpty;
    uint32_t tag = 0;
  };
  static constexpr size_t kFirstSlots = 64;  // a power of two, as every size
  static constexpr size_t kMostSlots = size_t{1} << 32U;

  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32U); }
  [[nodiscard]] size_t first(uint64_t hash) const { return tag_of(hash) >> shift_; }

  void grow() {
    if (slots_.size() == kMostSlots) {
      return;  // there are fewer positions than that
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
