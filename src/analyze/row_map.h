// Finds the row of a key: an open-addressing hash table over a vector of rows. Internal to aggregate.cpp.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "analyze/aggregate.h"

namespace gpuprof::analyze {

class RowMap {
 public:
  explicit RowMap(std::vector<Row>& rows) : rows_(rows), slots_(kFirstSlots, kEmpty), seed_(random_seed()) {}

  // The key's row, or null and the place for insert().
  Row* find(const RowKey& key, size_t& place) {
    const size_t mask = slots_.size() - 1;
    for (place = hash(key) & mask; slots_[place] != kEmpty; place = (place + 1) & mask) {
      if (rows_[slots_[place]].key == key) {
        return &rows_[slots_[place]];
      }
    }
    return nullptr;
  }

  // Adds a row for a key that find() has not found. Invalidates other rows' addresses.
  Row& insert(const RowKey& key, size_t place) {
    slots_[place] = static_cast<uint32_t>(rows_.size());
    rows_.push_back(Row{.key = key});
    if (rows_.size() * 2 > slots_.size()) {
      grow();
    }
    return rows_.back();
  }

  [[nodiscard]] bool full() const { return rows_.size() >= kEmpty - 1; }

 private:
  static constexpr uint32_t kEmpty = UINT32_MAX;
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

  [[nodiscard]] size_t hash(const RowKey& key) const {
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
    slots_.assign(slots_.size() * 2, kEmpty);
    const size_t mask = slots_.size() - 1;
    for (size_t i = 0; i < rows_.size(); ++i) {
      size_t place = hash(rows_[i].key) & mask;
      while (slots_[place] != kEmpty) {
        place = (place + 1) & mask;
      }
      slots_[place] = static_cast<uint32_t>(i);
    }
  }

  std::vector<Row>& rows_;
  std::vector<uint32_t> slots_;
  uint64_t seed_;
};

}  // namespace gpuprof::analyze
