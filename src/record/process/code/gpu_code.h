// GPU code: modules and the places in them. What a source calls by a number of its own becomes a number of the session,
// the same for the same code in every process.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/event_sink.h"
#include "record/batch.h"
#include "record/memory_budget.h"
#include "record/process/name_table.h"
#include "symbolize/source_frame.h"

namespace gpuprof::record {

// The code of one source, by its own numbers.
struct SourceGpuCode {
  std::unordered_map<uint32_t, profile::GpuModuleId> modules;
  std::unordered_map<uint32_t, profile::GpuPlaceId> places;

  [[nodiscard]] profile::GpuModuleId module(uint32_t id) const;  // none: not known
  [[nodiscard]] profile::GpuPlaceId place(uint32_t id) const;    // none: not known
};

// An instruction, by what the source calls it that has handed over its code.
struct CodeLocation {
  backend::SourceId source = 0;
  uint64_t module = 0;  // 0: its code is not known
  NameIndex function = 0;
  uint64_t offset = 0;                                    // in the function
  auto operator<=>(const CodeLocation&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 is wrong here
};

class GpuCode {
 public:
  // Of the session, and of each source; the samples of further code have no place, which the memory budget counts.
  static constexpr size_t kMaxModules = 100'000;
  static constexpr size_t kMaxPlaces = 2'000'000;

  explicit GpuCode(NameTable& names, MemoryBudget* memory = nullptr) : names_(names), memory_(memory) {}

  // The first definition of a number holds.
  void add(SourceGpuCode& source, const backend::GpuModule& module);
  void add(SourceGpuCode& source, const backend::GpuPlace& place);

  // The same for code that no source numbers. None: there is no room.
  profile::GpuModuleId intern(const backend::GpuModule& module);
  profile::GpuPlaceId intern(profile::GpuModuleId module, std::string_view function, uint64_t offset,
                             const std::vector<symbolize::SourceFrame>& lines);
  // What was found out of a place, once.
  void add(const profile::GpuInstruction& instruction) { new_instructions_.push_back(instruction); }

  void take_new(Batch& batch);

 private:
  using Key = std::vector<uint64_t>;
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  // Whether there is room for something more, where there are so many of at most that many.
  [[nodiscard]] bool admits(size_t count, size_t most) const;
  profile::GpuPlaceId intern(NewGpuPlace place);
  [[nodiscard]] NewGpuPlace named(profile::GpuModuleId module, const backend::GpuPlace& place);

  NameTable& names_;
  MemoryBudget* memory_;
  std::unordered_map<uint64_t, profile::GpuModuleId> modules_;  // by the name of the hash, or of the module
  std::unordered_map<Key, profile::GpuPlaceId, KeyHash> places_;
  std::vector<profile::GpuModule> new_modules_;
  std::vector<NewGpuPlace> new_places_;
  std::vector<profile::GpuInstruction> new_instructions_;
};

}  // namespace gpuprof::record
