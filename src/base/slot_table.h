// Finds things that lie in an array of the caller's: an open-addressing hash table of their positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

  // Into the empty slot that find() gave, with nothing put since. `hash_of(position)` is asked for all of them where
  // the table has to grow.
  template <typename HashOf>
  void put(size_t at, uint64_t hash, uint32_t position, HashOf hash_of) {
    slots_[at] = {position, tag_of(hash)};
    if (4 * ++used_ > 3 * slots_.size()) {
      grow(hash_of);
    }
  }

  // Another thing takes the place of one with the same hash.
  void replace(size_t at, uint32_t position) { slots_[at].position = position; }

  // The waits for memory of a find(), in the background: first of the slot, then of what it says where to find.
  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[first(hash)]); }
  [[nodiscard]] uint32_t likely_position(uint64_t hash) const { return slots_[first(hash)].position; }

 private:
  // The tag is the other half of the hash, so that another thing is hardly ever looked at.
  struct Slot {
    uint32_t position = kEmpty;
    uint32_t tag = 0;
  };
  static constexpr size_t kFirstSlots = 64;  // a power of two, as every size

  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32U); }
  [[nodiscard]] size_t first(uint64_t hash) const { return hash & (slots_.size() - 1); }

  template <typename HashOf>
  void grow(HashOf hash_of) {
    std::vector<Slot> before(slots_.size() * 2);
    before.swap(slots_);
    for (const Slot& old : before) {
      if (old.position != kEmpty) {
        slots_[find(hash_of(old.position), [](uint32_t) { return false; })] = old;
      }
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(kFirstSlots);
  size_t used_ = 0;
};

}  // namespace gpuprof
