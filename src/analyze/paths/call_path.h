// Call paths: one process name, CPU stack as it is shown, and work. What reports group by.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/paths/launch_site.h"
#include "analyze/paths/stack_view.h"
#include "analyze/paths/work_paths.h"
#include "analyze/rows/aggregate.h"

namespace gpuprof::analyze {

// Texts are those of the tables and of a WorkPaths.
struct PathKey {
  std::string_view process;  // its label
  std::string_view work;     // its label
  LaunchSite site;           // a representative
  bool operator<(const PathKey& other) const;
};

PathKey path_key(const profile::Work& work, WorkPaths& paths);

struct PathFrame {
  std::string_view label;
  std::string_view name;      // of the label
  std::string_view location;  // "train.py:31"; empty where the label is the name
  FrameClass cls = FrameClass::note;
  Origin origin = Origin::none;
};

// One path, of which the frames are looked up only when they are written: kept for each line of a large report, they
// would be far more than the profile.
class CallPath {
 public:
  CallPath() = default;
  CallPath(PathKey key, std::shared_ptr<WorkPaths> paths) : key_(key), paths_(std::move(paths)) {}

  [[nodiscard]] bool empty() const { return paths_ == nullptr; }  // otherwise there is a frame at least
  // Root first: those of the launch, then those of the capture of a graph's node. The frame between user and kernel
  // space is left out, as these are lists of functions. Valid as long as this.
  [[nodiscard]] std::vector<PathFrame> shown() const;
  [[nodiscard]] std::vector<std::string_view> frames() const;  // their labels

 private:
  PathKey key_;
  std::shared_ptr<WorkPaths> paths_;
};

}  // namespace gpuprof::analyze
