// Which work a user wants to see: by its name, and by a frame of the CPU stacks that it came from.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "analyze/paths/call_path.h"
#include "base/text/pattern.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

// Each name, stack and frame is matched once, however many rows have it.
class RowFilter {
 public:
  // All must outlive it. What is not given takes all.
  RowFilter(const std::optional<Pattern>& work, const std::optional<Pattern>& path, WorkPaths& texts)
      : work_(work), path_(path), texts_(texts) {}

  [[nodiscard]] bool takes_all() const { return !work_ && !path_; }

  // Frames are those that are shown, by their label.
  bool takes(const profile::Work& work) {
    return takes_all() || ((!work_ || matches_name(work)) && (!path_ || matches_path(work)));
  }

 private:
  bool matches_name(const profile::Work& work);
  bool matches_path(const profile::Work& work);
  bool matches_stack(bool kernel, profile::StackId id);

  const std::optional<Pattern>& work_;
  const std::optional<Pattern>& path_;
  WorkPaths& texts_;
  std::unordered_map<const char*, bool> names_;  // by the text of a WorkPaths, which stays where it is
  std::unordered_map<uint32_t, bool> frames_;    // of the view
  std::unordered_map<uint64_t, bool> stacks_;    // by id; kernel stacks in the upper half
};

}  // namespace gpuprof::analyze
