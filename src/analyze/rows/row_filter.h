// Selects work by its name and by a frame of its CPU stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "analyze/paths/call_path.h"
#include "base/text/pattern.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

// Decides whether work is selected. Caches the result for each name, stack and frame.
class RowFilter {
 public:
  // All arguments must outlive the filter. An empty pattern accepts everything.
  RowFilter(const std::optional<Pattern>& work, const std::optional<Pattern>& path, WorkPaths& texts)
      : work_(work), path_(path), texts_(texts) {}

  [[nodiscard]] bool takes_all() const { return !work_ && !path_; }

  // True if the filter accepts the work. Matches frames by the labels that are shown.
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
  std::unordered_map<const char*, bool> names_;  // key: the address of the text, which WorkPaths never moves
  std::unordered_map<uint32_t, bool> frames_;    // key: frame index of the view
  std::unordered_map<uint64_t, bool> stacks_;    // key: stack id; the upper half of the key is 1 for kernel stacks
};

}  // namespace gpuprof::analyze
