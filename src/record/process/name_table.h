// Interns the texts of a session: names of kernels, threads and functions. take_new() returns each text once, for the
// writer.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "record/batch.h"
#include "record/memory_budget.h"

namespace gpuprof::record {

class NameTable {
 public:
  static constexpr size_t kMaxBytes = size_t{256} << 20;

  // A target may invent names without end. If all texts together exceed `max_bytes`, or if the memory budget is used
  // up, new texts become "[more names]".
  explicit NameTable(size_t max_bytes = kMaxBytes, MemoryBudget* memory = nullptr)
      : max_bytes_(max_bytes), memory_(memory) {}

  NameIndex intern(std::string_view text);  // returns 0 for an empty text
  [[nodiscard]] std::string_view text(NameIndex index) const {
    return index == 0 || index > by_index_.size() ? std::string_view() : std::string_view(*by_index_[index - 1]);
  }
  std::vector<NewName> take_new() { return std::exchange(new_, {}); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  NameIndex add(std::string_view text);

  size_t max_bytes_;
  MemoryBudget* memory_;
  size_t bytes_ = 0;
  std::unordered_map<std::string, NameIndex, Hash, std::equal_to<>> indices_;
  std::vector<const std::string*> by_index_;  // points to the keys of indices_, which never move
  std::vector<NewName> new_;
};

}  // namespace gpuprof::record
