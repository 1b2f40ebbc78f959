// Call paths: one process name, CPU stack as it is shown, and work. What reports group by.
#pragma once

#include <string>
#include <vector>

#include "analyze/aggregate.h"
#include "analyze/stack_view.h"

namespace gpuprof::analyze {

// What stands in the place of a launch's stack that is not there, and of a graph node's capture.
inline constexpr const char* kNotSampled = "[stack not sampled]";
inline constexpr const char* kCapturedAt = "[captured at]";

// What stands for the capture stack of a graph's node that has none: of a process that was attached to it may be older
// than the recording, else it is not known (the nodes of a child graph, a lost stack).
const char* no_capture_label(const profile::Work& work);

struct PathKey {
  std::string process;        // its label
  profile::StackId ustack{};  // of stacks, representatives
  profile::StackId kstack{};
  std::string work;  // its label
  profile::StackId capture{};
  std::string no_capture;  // of a graph's node without `capture`: no_capture_label()
  bool unsampled = false;  // there is no stack by choice
  bool operator<(const PathKey& other) const;
};

PathKey path_key(const profile::Tables& tables, const profile::Work& work, StackView& view);
PathKey path_key(const Aggregate& rows, const Row& row, StackView& view);

// Its frames, root first: those of the launch, then those of the capture of a graph's node.
std::vector<std::string> call_path(const PathKey& key, StackView& view);

}  // namespace gpuprof::analyze
