// Writes each name, frame and call stack of a Perfetto trace once; events refer to its id. Internal to perfetto.cpp.
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

// Assigns ids (iids) in one packet sequence, whose incremental state is never cleared. Collects new entries until
// take() is called. The caller must write the entries before, or in, the packet that refers to them.
class Interned {
 public:
  explicit Interned(analyze::WalkFrames& frames) : frames_(frames) {}

  enum class Table : uint8_t { categories, names, annotations, functions, build_ids, mapping_paths, source_paths };
  static constexpr size_t kTables = 7;
  uint64_t text(Table table, std::string_view value);

  uint64_t call_stack(const analyze::LaunchSite& site);  // returns the stack's iid; 0 if the launch has no stack

  [[nodiscard]] bool has_new() const { return !new_.empty(); }
  std::string take() { return std::exchange(new_, {}); }  // returns the new fields for an InternedData message

 private:
  uint64_t frame(uint32_t id);
  uint64_t mapping(const analyze::WalkFrame& frame);

  analyze::WalkFrames& frames_;
  std::string new_;
  std::unordered_map<std::string, uint64_t> texts_[kTables];
  std::vector<uint64_t> frame_ids_;  // indexed by frame: its iid; 0 until the frame is written
  uint64_t frame_count_ = 0;
  std::map<std::pair<std::string_view, std::string_view>, uint64_t> mappings_;  // maps module and build id to iid
  std::unordered_map<analyze::LaunchSite, uint64_t, analyze::LaunchSiteHash> call_stacks_;
  std::vector<uint64_t> path_;
};

}  // namespace gpuprof::output::perfetto
