// What the events of a Perfetto trace have in common, written once: names, frames, call stacks. Internal to
// perfetto.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/call_path.h"
#include "analyze/stack_view.h"
#include "base/hash.h"
#include "profile/tables.h"

namespace gpuprof::output::perfetto {

// Ids are those of one packet sequence, whose incremental state is never cleared. What is new is gathered until take():
// it has to be written before, or with, the packet that refers to it.
class Interned {
 public:
  Interned(const profile::Tables& tables, analyze::StackView& view) : tables_(tables), view_(view) {}

  enum class Table : uint8_t { categories, names, annotations, functions, build_ids, mapping_paths, source_paths };
  static constexpr size_t kTables = 7;
  uint64_t text(Table table, std::string_view value);

  // 0 where there is no stack.
  uint64_t call_stack(const profile::Work& work) { return call_stack({work.ustack, work.kstack, work.capture}); }
  uint64_t call_stack(profile::StackId ustack) { return call_stack({ustack, {}, {}}); }

  [[nodiscard]] bool has_new() const { return !new_.empty(); }
  std::string take() { return std::exchange(new_, {}); }  // fields of an InternedData

 private:
  struct Stacks {
    profile::StackId ustack{};
    profile::StackId kstack{};
    profile::StackId capture{};
    bool operator==(const Stacks&) const = default;
  };
  struct StacksHash {
    size_t operator()(const Stacks& key) const {
      return fold_multiply(join_ids(index(key.ustack), index(key.kstack)) ^ kHashMultiplier,
                           index(key.capture) + kHashMultiplier);
    }
  };
  uint64_t call_stack(const Stacks& stacks);
  void put_stack(bool kernel, profile::StackId id);
  uint64_t frame(bool kernel, profile::Element element, uint32_t shown);
  uint64_t note(std::string_view text);
  uint64_t mapping(const profile::Frame& frame);

  const profile::Tables& tables_;
  analyze::StackView& view_;
  std::string new_;
  std::unordered_map<std::string, uint64_t> texts_[kTables];
  std::unordered_map<uint64_t, uint64_t> frames_;  // by element
  std::unordered_map<std::string, uint64_t> notes_;
  uint64_t frame_count_ = 0;
  std::unordered_map<uint64_t, uint64_t> mappings_;  // by module and build id
  std::unordered_map<Stacks, uint64_t, StacksHash> call_stacks_;
  std::vector<uint64_t> path_;  // being put together
};

}  // namespace gpuprof::output::perfetto
