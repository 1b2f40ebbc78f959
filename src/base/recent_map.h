// An unordered map that remembers the entry which it found last. Consecutive events mostly belong to the same process,
// device, launch or graph node, so most lookups need no search.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>

namespace gpuprof {

// `Map` is a std::unordered_map: it may add entries while others are in use.
template <typename Map>
class RecentMap {
 public:
  using Key = typename Map::key_type;
  using Value = typename Map::mapped_type;

  template <typename... Args>
  explicit RecentMap(Args&&... args) : map_(std::forward<Args>(args)...) {}
  RecentMap(const RecentMap&) = delete;
  RecentMap& operator=(const RecentMap&) = delete;

  // Returns null if there is no such entry.
  [[nodiscard]] Value* find(const Key& key) { return search(key) ? &last_->second : nullptr; }
  [[nodiscard]] const Value* find(const Key& key) const { return search(key) ? &last_->second : nullptr; }
  [[nodiscard]] bool contains(const Key& key) const { return search(key); }
  // Creates a missing entry.
  Value& operator[](const Key& key) {
    if (!is_last(key)) {
      last_ = &*map_.try_emplace(key).first;
    }
    return last_->second;
  }

  void erase(const Key& key) {
    last_ = nullptr;
    map_.erase(key);
  }
  template <typename Condition>
  void erase_if(Condition condition) {
    last_ = nullptr;
    std::erase_if(map_, condition);
  }
  void clear() {
    last_ = nullptr;
    map_.clear();
  }

  [[nodiscard]] size_t size() const { return map_.size(); }
  [[nodiscard]] bool empty() const { return map_.empty(); }
  auto begin() { return map_.begin(); }
  auto end() { return map_.end(); }
  auto begin() const { return std::as_const(map_).begin(); }
  auto end() const { return std::as_const(map_).end(); }

 private:
  [[nodiscard]] bool is_last(const Key& key) const { return last_ != nullptr && last_->first == key; }
  bool search(const Key& key) const {
    if (!is_last(key)) {
      const auto found = map_.find(key);
      last_ = found == map_.end() ? nullptr : &*found;
    }
    return last_ != nullptr;
  }

  mutable Map map_;  // a search changes no entry, but last_ gives access to it
  mutable typename Map::value_type* last_ = nullptr;
};

}  // namespace gpuprof
