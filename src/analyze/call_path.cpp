#include "analyze/call_path.h"

#include <algorithm>
#include <tuple>

#include "analyze/labels.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

void append_stack(StackView& view, bool kernel, p::StackId id, std::vector<PathFrame>& path) {
  for (const uint32_t frame : view.frames(kernel, id)) {
    path.push_back({.label = view.label(frame),
                    .name = view.name(frame),
                    .location = view.location(frame),
                    .cls = view.frame_class(frame),
                    .origin = view.origin(frame)});
  }
}

PathFrame mark(std::string_view text) {
  return {.label = text, .name = text, .location = {}, .cls = FrameClass::mark};
}

// Equal texts are mostly one text, and it may be long.
int compare(std::string_view a, std::string_view b) {
  return a.data() == b.data() && a.size() == b.size() ? 0 : a.compare(b);
}

}  // namespace

const char* no_capture_label(const p::Work& work) {
  return (work.flags & p::kWorkAttached) != 0 ? "[captured before recording]" : "[capture not known]";
}

bool PathKey::operator<(const PathKey& other) const {
  if (const int order = compare(process, other.process); order != 0) {
    return order < 0;
  }
  const auto stacks = std::pair(ustack, kstack);
  const auto others = std::pair(other.ustack, other.kstack);
  if (stacks != others) {
    return stacks < others;
  }
  if (const int order = compare(work, other.work); order != 0) {
    return order < 0;
  }
  return std::tie(capture, no_capture, unsampled) < std::tie(other.capture, other.no_capture, other.unsampled);
}

std::string_view PathTexts::work(const p::Work& work) {
  const uint64_t key = (uint64_t{static_cast<uint8_t>(work.op)} << 32U) | index(work.name);
  const auto [known, is_new] = works_.try_emplace(key);
  if (is_new) {
    known->second = work_label(tables_, work);
  }
  return known->second;
}

PathKey PathTexts::key(const p::Work& r) {
  return {.process = process_label(tables_, r),
          .ustack = view_.representative(false, r.ustack),
          .kstack = view_.representative(true, r.kstack),
          .work = work(r),
          .capture = view_.representative(false, r.capture),
          .no_capture = index(r.capture) == 0 && (r.flags & p::kWorkGraphNode) != 0 ? no_capture_label(r) : "",
          .unsampled = p::is_unsampled(r)};
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
  StackView& view = texts_->view();
  append_stack(view, false, key_.ustack, path);
  append_stack(view, true, key_.kstack, path);
  if (path.empty()) {
    const bool hidden = view.is_hidden(false, key_.ustack) || view.is_hidden(true, key_.kstack);
    path.push_back(mark(hidden ? kAllHidden : key_.unsampled ? kNotSampled : kNoCpuStack.data()));
  }
  if (index(key_.capture) != 0) {
    path.push_back(mark(kCapturedAt));
    append_stack(view, false, key_.capture, path);
    if (view.is_hidden(false, key_.capture)) {
      path.push_back(mark(kAllHidden));
    }
  } else if (!key_.no_capture.empty()) {
    path.push_back(mark(key_.no_capture));
  }
  return path;
}

}  // namespace gpuprof::analyze
