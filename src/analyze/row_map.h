// Finds the row of a key: an open-addressing hash table over a vector of rows. Internal to aggregate.cpp.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "analyze/aggregate.h"

namespace gpuprof::analyze {

class RowMap {
 public:
  explicit RowMap(std::vector<Row>& rows) : rows_(rows), slots_(kFirstSlots), seed_(random_seed()) {}

  // Where a key is or belongs; for insert().
  struct Place {
    size_t slot = 0;
    uint32_t tag = 0;
  };

  // In a large table find() waits for memory twice. Where records are queued on their way to it, begin() and, a while
  // later, approach() let these waits pass in the background.
  [[nodiscard]] uint64_t begin(const RowKey& key) const {
    const uint64_t h = hash(key);
    __builtin_prefetch(&slots_[h & (slots_.size() - 1)]);
    return h;
  }
  // Always inlined: gcc drops the call of a function whose only effect is a prefetch.
  [[gnu::always_inline]] void approach(const RowKey& key, uint64_t h) const {
    const Slot& slot = slots_[h & (slots_.size() - 1)];
    if (slot.row == kEmpty) {
      return;
    }
    const Row* const row = &rows_[slot.row];
    __builtin_prefetch(row, 1);
    if (key.kind == RowKind::gpu) {
      __builtin_prefetch(&row->max_ns, 1);  // in the second cache line
    }
  }

  // The key's row, or null. `h` is what begin() gave.
  Row* find(const RowKey& key, uint64_t h, Place& place) {
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
  Row& insert(const RowKey& key, const Place& place) {
    slots_[place.slot] = {static_cast<uint32_t>(rows_.size()), place.tag};
    rows_.push_back(Row{.key = key});
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
  static constexpr size_t kFirstSlots = 1024;  // a power of two, as every size

  // Keys come from a file: with a seed it can not be made to hit one slot.
  static uint64_t random_seed() {
    std::random_device device;
    return (uint64_t{device()} << 32U) | device();
  }

  static uint64_t mix(uint64_t a, uint64_t b) {
    const profile::Uint128 product = profile::Uint128{a} * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64U);
  }
  static uint64_t pair(uint32_t a, uint32_t b) { return (uint64_t{a} << 32U) | b; }

  [[nodiscard]] uint64_t hash(const RowKey& key) const {
    constexpr uint64_t kOdd = 0x9E3779B97F4A7C15U;
    const uint64_t kinds = (uint64_t{static_cast<uint8_t>(key.kind)} << 8U) | static_cast<uint8_t>(key.op);
    uint64_t h = mix(seed_ ^ pair(key.process, key.name), kOdd ^ kinds);
    h = mix(h ^ pair(index(key.ustack), index(key.kstack)), kOdd ^ key.pid);
    if (key.kind == RowKind::stall) {
      h = mix(h ^ pair(key.gpu_file, key.insn_text), kOdd ^ key.stall_type);
      h = mix(h ^ key.offset, kOdd);
    }
    return h;
  }

  void grow() {
    slots_.assign(slots_.size() * 2, Slot{});
    const size_t mask = slots_.size() - 1;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const uint64_t h = hash(rows_[i].key);
      size_t slot = h & mask;
      while (slots_[slot].row != kEmpty) {
        slot = (slot + 1) & mask;
      }
      slots_[slot] = {static_cast<uint32_t>(i), static_cast<uint32_t>(h >> 32U)};
    }
  }

  std::vector<Row>& rows_;
  std::vector<Slot> slots_;
  uint64_t seed_;
};

}  // namespace gpuprof::analyze
