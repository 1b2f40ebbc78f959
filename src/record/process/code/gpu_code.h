// Numbers GPU modules and code locations. Replaces ids of sources by ids that all processes of the session share.
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

// Maps a source's ids of modules and locations to ids of the session.
struct SourceGpuCode {
  std::unordered_map<uint32_t, profile::GpuModuleId> modules;
  std::unordered_map<uint32_t, profile::GpuPlaceId> places;

  [[nodiscard]] profile::GpuModuleId module(uint32_t id) const;  // 0: unknown
  [[nodiscard]] profile::GpuPlaceId place(uint32_t id) const;    // 0: unknown
};

struct CodeLocation {
  backend::SourceId source = 0;
  uint64_t module = 0;  // 0: unknown code
  NameIndex function = 0;
  uint64_t offset = 0;
  auto operator<=>(const CodeLocation&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 is wrong here
};

class GpuCode {
 public:
  // Limits per session and per source. Above them, samples have no location, and MemoryBudget::left_out() counts each
  // lost entry.
  static constexpr size_t kMaxModules = 100'000;
  static constexpr size_t kMaxPlaces = 2'000'000;

  explicit GpuCode(NameTable& names, MemoryBudget* memory = nullptr) : names_(names), memory_(memory) {}

  // If an id is defined again, the first definition stays.
  void add(SourceGpuCode& source, const backend::GpuModule& module);
  void add(SourceGpuCode& source, const backend::GpuPlace& place);

  // Both functions return the id of equal code if it exists, whatever source it came from. They return 0 if a limit is
  // reached.
  profile::GpuModuleId intern(const backend::GpuModule& module);
  profile::GpuPlaceId intern(profile::GpuModuleId module, std::string_view function, uint64_t offset,
                             const std::vector<symbolize::SourceFrame>& lines);
  // Adds the analysis of the instruction at a location. Call it once for each location.
  void add(const profile::GpuInstruction& instruction) { new_instructions_.push_back(instruction); }

  void take_new(Batch& batch);

 private:
  using Key = std::vector<uint64_t>;
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  // Returns whether a table of `count` entries may grow. If not, counts the new entry as left out.
  [[nodiscard]] bool admits(size_t count, size_t most) const;
  profile::GpuPlaceId intern(NewGpuPlace place);
  [[nodiscard]] NewGpuPlace named(profile::GpuModuleId module, const backend::GpuPlace& place);

  NameTable& names_;
  MemoryBudget* memory_;
  // The key is the name index of the hash or, without a hash, of the module's name.
  std::unordered_map<uint64_t, profile::GpuModuleId> modules_;
  std::unordered_map<Key, profile::GpuPlaceId, KeyHash> places_;
  std::vector<profile::GpuModule> new_modules_;
  std::vector<NewGpuPlace> new_places_;
  std::vector<profile::GpuInstruction> new_instructions_;
};

}  // namespace gpuprof::record
