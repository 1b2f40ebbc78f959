// Call paths: one process name, CPU stack as it is shown, and work. What reports group by.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
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

// Texts are those of the tables and of a PathTexts.
struct PathKey {
  std::string_view process;   // its label
  profile::StackId ustack{};  // of stacks, representatives
  profile::StackId kstack{};
  std::string_view work;  // its label
  profile::StackId capture{};
  std::string_view no_capture;  // of a graph's node without `capture`: no_capture_label()
  bool unsampled = false;       // there is no stack by choice
  bool operator<(const PathKey& other) const;
};

// Holds what paths are told by: rows are many, but their stacks and names are few, and a name may be long.
class PathTexts {
 public:
  // The tables must outlive it.
  PathTexts(const profile::Tables& tables, const StackOptions& stacks) : tables_(tables), view_(tables, stacks) {}

  std::string_view work(const profile::Work& work);
  PathKey key(const profile::Work& work);
  StackView& view() { return view_; }

 private:
  const profile::Tables& tables_;
  StackView view_;
  std::unordered_map<uint64_t, std::string> works_;  // by operation and name
};

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
  CallPath(PathKey key, std::shared_ptr<PathTexts> texts) : key_(key), texts_(std::move(texts)) {}

  [[nodiscard]] bool empty() const { return texts_ == nullptr; }  // otherwise there is a frame at least
  // Root first: those of the launch, then those of the capture of a graph's node. Valid as long as this.
  [[nodiscard]] std::vector<PathFrame> shown() const;
  [[nodiscard]] std::vector<std::string_view> frames() const;  // their labels

 private:
  PathKey key_;
  std::shared_ptr<PathTexts> texts_;
};

}  // namespace gpuprof::analyze
