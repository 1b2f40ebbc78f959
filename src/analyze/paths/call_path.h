// Defines call paths, by which reports group work.
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

// Identifies a call path by process name, CPU stack as shown, and work. Texts belong to the tables and to WorkPaths.
struct PathKey {
  std::string_view process;
  std::string_view work;
  LaunchSite site;  // represents all launch sites with the same shown frames
  bool operator<(const PathKey& other) const;
};

PathKey path_key(const profile::Work& work, WorkPaths& paths);

struct PathFrame {
  std::string_view label;
  std::string_view name;
  std::string_view location;  // for example "train.py:31"; empty if the label is only a name
  FrameClass cls = FrameClass::note;
  Origin origin = Origin::none;
};

// A call path that collects its frames on request. Stored frames would take far more memory than the profile.
class CallPath {
 public:
  CallPath() = default;
  CallPath(PathKey key, std::shared_ptr<WorkPaths> paths) : key_(key), paths_(std::move(paths)) {}

  [[nodiscard]] bool empty() const { return paths_ == nullptr; }
  // Returns the frames outermost first: those of the launch and, for a graph node, those of the call that captured it.
  // Leaves out the separator between user and kernel frames. Valid as long as the CallPath.
  [[nodiscard]] std::vector<PathFrame> shown() const;
  [[nodiscard]] std::vector<std::string_view> frames() const;

 private:
  PathKey key_;
  std::shared_ptr<WorkPaths> paths_;
};

}  // namespace gpuprof::analyze
