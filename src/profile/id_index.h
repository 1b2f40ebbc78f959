// Maps the ids that a file defines to positions in the caller's tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace gpuprof::profile {

// Stores small ids in an array, and other ids in a hash table. So a hostile file cannot make it use much memory by
// choosing large ids: the memory is proportional to the number of ids.
class IdIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  [[nodiscard]] uint32_t find(uint32_t id) const {
    if (id < dense_.size() && dense_[id] != kNone) {
      return dense_[id];
    }
    return sparse_.empty() ? kNone : find_sparse(id);
  }
  [[nodiscard]] bool has(uint32_t id) const { return find(id) != kNone; }
  // Always inlined, because gcc removes the call of a function whose only effect is a prefetch.
  [[gnu::always_inline]] void prefetch(uint32_t id) const {
    if (id < dense_.size()) {
      __builtin_prefetch(&dense_[id]);
    }
  }
  void insert(uint32_t id, uint32_t position);

 private:
  [[nodiscard]] uint32_t find_sparse(uint32_t id) const;

  std::vector<uint32_t> dense_;
  std::unordered_map<uint32_t, uint32_t> sparse_;
  size_t count_ = 0;
};

}  // namespace gpuprof::profile
