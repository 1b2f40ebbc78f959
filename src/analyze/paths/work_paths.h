// Builds the path of a work item. A path consists of the process, NVTX ranges, user frames, "-", Linux kernel frames,
// "[captured at]", the frames of the capture, and the GPU kernel. Flame graphs, walks, reports, comparisons and traces
// all use this class.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/paths/launch_site.h"
#include "analyze/paths/stack_view.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

// Under which stacks CUDA graph nodes are shown. Other work is always shown under the stack of its launch.
enum class GraphStacks : uint8_t {
  both,     // first the launch of the graph, then "[captured at]" and the call that captured the node
  launch,   // only the launch of the graph
  capture,  // only the call that captured or added the node
};

inline constexpr std::string_view kCapturedAt = "[captured at]";
inline constexpr std::string_view kWokenBy = "[woken by ";  // and the name of a thread
inline constexpr std::string_view kAllHidden = "[all frames hidden]";

// Paths share segments: a process, NVTX ranges, a stack, a note. Each is built once. Callers may cache its number.
class WorkPaths {
 public:
  using PathSegment = uint32_t;  // segments are numbered from 0; kNothing has no frames
  static constexpr PathSegment kNothing = 0;

  // The tables must outlive the object, and may grow.
  WorkPaths(const profile::Tables& tables, const StackOptions& stacks, GraphStacks graph = GraphStacks::both);

  PathSegment process(const profile::Work& work);
  PathSegment ranges(profile::RangeId id);  // outermost first
  PathSegment stack(bool kernel, profile::StackId id);
  // Returns the segments of the launch and its capture, outermost first. Valid until the next call.
  std::span<const PathSegment> launch(const LaunchSite& site);
  // Returns "[woken by worker-3]" and the stack of that thread, if the work is a time off a CPU which it ended.
  std::span<const PathSegment> waker(const profile::Work& work);

  // Returns the segment's frames as frame numbers of the view, outermost first. Valid until the next segment is built.
  [[nodiscard]] std::span<const uint32_t> frames(PathSegment part) const {
    return std::span(frames_).subspan(parts_[part].begin, parts_[part].size);
  }
  // Returns the number of frames in all earlier segments: the frames of all segments are stored in one list.
  [[nodiscard]] size_t begin(PathSegment part) const { return parts_[part].begin; }
  enum class Kind : uint8_t { text, ustack, kstack };
  [[nodiscard]] Kind kind(PathSegment part) const { return parts_[part].kind; }
  // Makes elements() available. Call it before the first segment is built.
  void keep_elements() { keeps_elements_ = true; }
  [[nodiscard]] std::span<const profile::Element> elements(PathSegment part) const {
    return std::span(elements_).subspan(parts_[part].elements, parts_[part].size);
  }

  // Returns the view's frame number of the kernel, copy or call. Labels never move.
  uint32_t work(const profile::Work& work, FrameClass cls);
  std::string_view work_label(const profile::Work& work) { return view_.label(this->work(work, FrameClass::gpu)); }

  // Returns one site for all sites that are shown alike.
  LaunchSite representative(LaunchSite site);

  StackView& view() { return view_; }
  [[nodiscard]] const profile::Tables& tables() const { return tables_; }

 private:
  struct KnownPart {
    size_t begin = 0;  // index of the segment's first frame in frames_
    size_t size = 0;
    Kind kind = Kind::text;
    size_t elements = 0;  // set for stacks only: index of the segment's first element in elements_
  };
  // Limits memory: each range with work has a path of up to 1024 ranges, so a small file could need very much memory.
  static constexpr size_t kMostRangeFrames = 16'000'000;

  PathSegment text(std::string_view label, FrameClass cls);
  PathSegment keep(size_t begin);
  uint32_t range_frame(const profile::Range& range);
  void add_launch(const LaunchSite& site);
  void add_capture(const LaunchSite& site);
  void add_note(PathNote note);

  const profile::Tables& tables_;
  StackView view_;
  GraphStacks graph_;
  bool keeps_elements_ = false;
  std::vector<KnownPart> parts_ = {{}};
  std::vector<uint32_t> frames_;
  std::vector<profile::Element> elements_;
  std::unordered_map<uint32_t, PathSegment> processes_;
  std::unordered_map<uint32_t, PathSegment> ranges_;
  std::unordered_map<uint32_t, PathSegment> stacks_[2];  // [0]: user stacks, [1]: kernel stacks
  std::unordered_map<uint32_t, uint32_t> range_frames_;
  std::unordered_map<uint32_t, PathSegment> wakers_;  // key: name of the WORK
  std::unordered_map<uint64_t, uint32_t> works_;      // key: class, operation and name
  size_t range_frame_count_ = 0;                      // number of frames, summed over all range paths
  size_t range_bytes_ = 0;                            // total size of the range labels that consist of domain and name
  std::array<PathSegment, 8> notes_ = {};
  std::vector<PathSegment> path_;
};

}  // namespace gpuprof::analyze
