// Finds the row of a sample. Internal to aggregate.cpp.
#pragma once

#include <cstdint>

#include "analyze/rows/aggregate.h"
#include "base/hash.h"
#include "base/large_vector.h"
#include "base/slot_table.h"

namespace gpuprof::analyze {

class SampleMap {
 public:
  explicit SampleMap(LargeVector<SampleRow>& rows) : rows_(rows) {}

  // In a large table, find() has two cache misses. For queued records, first call begin(), which prefetches the slot,
  // then approach(), which prefetches the row. approach() returns false if the key is certainly new.
  [[nodiscard]] uint64_t begin(const SampleKey& key) const {
    const uint64_t h = hash(key);
    slots_.prefetch(h);
    return h;
  }
  // Without always_inline, gcc removes calls of a function whose only effect is a prefetch.
  [[gnu::always_inline]] bool approach(uint64_t h) const {
    const uint32_t row = slots_.likely_position(h);
    if (row == SlotTable::kEmpty) {
      return false;
    }
    __builtin_prefetch(&rows_[row], 1);
    return true;
  }

  // Returns the key's row, or null. Sets `slot` for insert(). `h` is the result of begin().
  SampleRow* find(const SampleKey& key, uint64_t h, size_t& slot) {
    slot = slots_.find(h, [&](uint32_t row) { return rows_[row].key == key; });
    const uint32_t row = slots_.position(slot);
    return row == SlotTable::kEmpty ? nullptr : &rows_[row];
  }

  // Adds a row for a key that find() did not find. Invalidates the addresses of other rows.
  SampleRow& insert(const SampleKey& key, uint64_t h, size_t slot) {
    const auto row = static_cast<uint32_t>(rows_.size());
    rows_.push_back({.key = key});
    slots_.put(slot, h, row);
    return rows_.back();
  }

  [[nodiscard]] bool full() const { return rows_.size() >= SlotTable::kEmpty - 1; }

 private:
  [[nodiscard]] uint64_t hash(const SampleKey& key) const {
    const uint64_t h = fold_multiply(seed_ ^ join_ids(index(key.work), index(key.place)), kHashMultiplier ^ key.flags);
    return fold_multiply(h ^ join_ids(index(key.reason), index(key.sampling)), kHashMultiplier);
  }

  LargeVector<SampleRow>& rows_;
  SlotTable slots_;
  uint64_t seed_ = random_seed();
};

}  // namespace gpuprof::analyze
