#include "analyze/paths/call_path.h"

#include <algorithm>
#include <tuple>

#include "analyze/names/labels.h"

namespace gpuprof::analyze {
namespace {

// Compares addresses first: equal texts usually have one address, and comparing long texts is slow.
int compare(std::string_view a, std::string_view b) {
  return a.data() == b.data() && a.size() == b.size() ? 0 : a.compare(b);
}

}  // namespace

bool PathKey::operator<(const PathKey& other) const {
  if (const int order = compare(process, other.process); order != 0) {
    return order < 0;
  }
  const auto stacks = std::pair(site.ustack, site.kstack);
  const auto others = std::pair(other.site.ustack, other.site.kstack);
  if (stacks != others) {
    return stacks < others;
  }
  if (const int order = compare(work, other.work); order != 0) {
    return order < 0;
  }
  return std::tie(site.capture, site.no_capture, site.no_launch) <
         std::tie(other.site.capture, other.site.no_capture, other.site.no_launch);
}

PathKey path_key(const profile::Work& work, WorkPaths& paths) {
  return {.process = process_label(paths.tables(), work),
          .work = paths.work_label(work),
          .site = paths.representative(site_of(work))};
}

std::vector<std::string_view> CallPath::frames() const {
  const std::vector<PathFrame> path = shown();
  std::vector<std::string_view> labels(path.size());
  std::transform(path.begin(), path.end(), labels.begin(), [](const PathFrame& frame) { return frame.label; });
  return labels;
}

std::vector<PathFrame> CallPath::shown() const {
  std::vector<PathFrame> path;
  if (empty()) {
    return path;
  }
  const StackView& view = paths_->view();
  for (const WorkPaths::PathSegment part : paths_->launch(key_.site)) {
    for (const uint32_t frame : paths_->frames(part)) {
      if (view.frame_class(frame) != FrameClass::separator) {
        path.push_back({.label = view.label(frame),
                        .name = view.name(frame),
                        .location = view.location(frame),
                        .cls = view.frame_class(frame),
                        .origin = view.origin(frame)});
      }
    }
  }
  return path;
}

}  // namespace gpuprof::analyze
