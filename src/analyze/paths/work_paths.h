// The path of a work item: process; NVTX ranges; user frames; "-"; kernel frames; "[captured at]"; frames of the
// capture; the kernel. Flame graphs, walks, reports, comparisons and traces all build their paths with this class.
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

// Which stacks the nodes of CUDA graphs are shown under. Other work is always shown under that of its launch.
enum class GraphStacks : uint8_t {
  both,     // launch; "[captured at]"; capture
  launch,   // of the graph's launch
  capture,  // of the call that captured or added the node
};

inline constexpr std::string_view kCapturedAt = "[captured at]";
// Stands where a stack has frames, but none that is to be shown.
inline constexpr std::string_view kAllHidden = "[all frames hidden]";

// Many works share the parts of their paths: a process, the NVTX ranges, a stack, a note. Each part is put together
// once. Callers keep their own form of a part by its number.
class WorkPaths {
 public:
  using Part = uint32_t;  // small and dense; kNothing has no frames
  static constexpr Part kNothing = 0;

  // The tables must outlive it. They may grow meanwhile.
  WorkPaths(const profile::Tables& tables, const StackOptions& stacks, GraphStacks graph = GraphStacks::both);

  Part process(const profile::Work& work);
  Part ranges(profile::RangeId id);  // outermost first
  Part stack(bool kernel, profile::StackId id);
  // From the launch on, root first. Valid until the next call.
  std::span<const Part> launch(const LaunchSite& site);

  // Numbers of the view's frames, root first. Valid until the next part is made.
  [[nodiscard]] std::span<const uint32_t> frames(Part part) const {
    return std::span(frames_).subspan(parts_[part].begin, parts_[part].size);
  }
  // The position of the part's first frame among the frames of all parts. Parts lie one behind the other.
  [[nodiscard]] size_t begin(Part part) const { return parts_[part].begin; }
  enum class Kind : uint8_t { text, ustack, kstack };
  [[nodiscard]] Kind kind(Part part) const { return parts_[part].kind; }
  // Of a stack: the elements that its frames are, one for each. Valid as long as frames(), and only for those who keep
  // them from the first part on.
  void keep_elements() { keeps_elements_ = true; }
  [[nodiscard]] std::span<const profile::Element> elements(Part part) const {
    return std::span(elements_).subspan(parts_[part].elements, parts_[part].size);
  }

  // The kernel, copy or call itself, as a number of the view's frames. Labels stay where they are.
  uint32_t work(const profile::Work& work, FrameClass cls);
  std::string_view work_label(const profile::Work& work) { return view_.label(this->work(work, FrameClass::gpu)); }

  // A site that is shown alike: the same one for all that are.
  LaunchSite representative(LaunchSite site);

  StackView& view() { return view_; }
  [[nodiscard]] const profile::Tables& tables() const { return tables_; }

 private:
  struct KnownPart {
    size_t begin = 0;  // in frames_
    size_t size = 0;
    Kind kind = Kind::text;
    size_t elements = 0;  // of a stack: where they begin in elements_
  };
  // Each range that work was done in has a path of its own, of up to 1024 ranges: a small file could ask for any amount
  // of memory.
  static constexpr size_t kMostRangeFrames = 16'000'000;

  Part text(std::string_view label, FrameClass cls);
  Part keep(size_t begin);
  uint32_t range_frame(const profile::Range& range);
  void add_launch(const LaunchSite& site);
  void add_capture(const LaunchSite& site);
  void add_note(PathNote note);

  const profile::Tables& tables_;
  StackView view_;
  GraphStacks graph_;
  bool keeps_elements_ = false;
  std::vector<KnownPart> parts_ = {{}};
  std::vector<uint32_t> frames_;            // of all parts
  std::vector<profile::Element> elements_;  // of all stacks, where they are kept
  std::unordered_map<uint32_t, Part> processes_;
  std::unordered_map<uint32_t, Part> ranges_;
  std::unordered_map<uint32_t, Part> stacks_[2];  // of kernel space or not
  std::unordered_map<uint32_t, uint32_t> range_frames_;
  std::unordered_map<uint64_t, uint32_t> works_;  // by class, operation and name
  size_t range_frame_count_ = 0;                  // of all paths of ranges
  size_t range_bytes_ = 0;                        // of labels that are composed of a domain and a name
  std::array<Part, 8> notes_ = {};
  std::vector<Part> path_;  // what launch() returns
};

}  // namespace gpuprof::analyze
