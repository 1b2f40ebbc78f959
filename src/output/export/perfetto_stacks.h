// What the events of a Perfetto trace have in common, written once: names, frames, call stacks. Internal to
// perfetto.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/paths/walk_frames.h"

namespace gpuprof::output::perfetto {

// Ids are those of one packet sequence, whose incremental state is never cleared. What is new is gathered until take():
// it has to be written before, or with, the packet that refers to it.
class Interned {
 public:
  explicit Interned(analyze::WalkFrames& frames) : frames_(frames) {}

  enum class Table : uint8_t { categories, names, annotations, functions, build_ids, mapping_paths, source_paths };
  static constexpr size_t kTables = 7;
  uint64_t text(Table table, std::string_view value);

  uint64_t call_stack(const analyze::LaunchSite& site);  // 0 where there is no stack

  [[nodiscard]] bool has_new() const { return !new_.empty(); }
  std::string take() { return std::exchange(new_, {}); }  // fields of an InternedData

 private:
  uint64_t frame(uint32_t id);
  uint64_t mapping(const analyze::WalkFrame& frame);

  analyze::WalkFrames& frames_;
  std::string new_;
  std::unordered_map<std::string, uint64_t> texts_[kTables];
  std::vector<uint64_t> frame_ids_;  // by frame; 0: not written yet
  uint64_t frame_count_ = 0;
  std::map<std::pair<std::string_view, std::string_view>, uint64_t> mappings_;  // by module and build id
  std::unordered_map<analyze::LaunchSite, uint64_t, analyze::LaunchSiteHash> call_stacks_;
  std::vector<uint64_t> path_;  // being put together
};

}  // namespace gpuprof::output::perfetto
