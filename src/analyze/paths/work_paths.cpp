#include "analyze/paths/work_paths.h"

#include <algorithm>

#include "analyze/names/labels.h"
#include "profile/keywords.h"

namespace gpuprof::analyze {

namespace p = gpuprof::profile;

namespace {

// Indexed by PathNote.
constexpr std::array<std::string_view, 8> kNotes = {"",
                                                    "-",
                                                    kCapturedAt,
                                                    kAllHidden,
                                                    kNoCpuStack,
                                                    "[stack not sampled]",
                                                    "[capture not known]",
                                                    "[captured before recording]"};
static_assert(static_cast<size_t>(PathNote::early_capture) + 1 == kNotes.size());

}  // namespace

WorkPaths::WorkPaths(const p::Tables& tables, const StackOptions& stacks, GraphStacks graph)
    : tables_(tables), view_(tables, stacks), graph_(graph) {}

WorkPaths::PathSegment WorkPaths::process(const p::Work& work) {
  const auto [known, is_new] = processes_.try_emplace(index(work.process), kNothing);
  if (is_new) {
    known->second = text(process_label(tables_, work), FrameClass::process);
  }
  return known->second;
}

WorkPaths::PathSegment WorkPaths::ranges(p::RangeId id) {
  if (index(id) == 0) {
    return kNothing;
  }
  const auto [known, is_new] = ranges_.try_emplace(index(id), kNothing);
  if (is_new) {
    const size_t begin = frames_.size();
    for (const p::Range* range = tables_.range(id); range != nullptr; range = tables_.range(range->parent)) {
      frames_.push_back(range_frame(*range));
      if (range_frame_count_ >= kMostRangeFrames) {
        break;  // at the limit, the path lacks its outermost ranges
      }
    }
    range_frame_count_ += frames_.size() - begin;
    std::reverse(frames_.begin() + static_cast<std::ptrdiff_t>(begin), frames_.end());
    known->second = keep(begin);
  }
  return known->second;
}

uint32_t WorkPaths::range_frame(const p::Range& range) {
  const auto [known, is_new] = range_frames_.try_emplace(index(range.id), 0);
  if (is_new) {
    const std::string_view name = tables_.text(range.name);
    // The total size of range labels is limited, because many ranges of a small profile may repeat one long domain.
    const size_t bytes = tables_.text(range.domain).size() + name.size();
    if (bytes <= kMostComposedBytes - range_bytes_) {
      range_bytes_ += bytes;
      known->second = view_.text(range_label(tables_, range), FrameClass::mark);
    } else {
      known->second = view_.text(name.empty() ? kUnknown : name, FrameClass::mark);
    }
  }
  return known->second;
}

WorkPaths::PathSegment WorkPaths::stack(bool kernel, p::StackId id) {
  if (index(id) == 0) {
    return kNothing;
  }
  const auto [known, is_new] = stacks_[kernel ? 1 : 0].try_emplace(index(id), kNothing);
  if (is_new) {
    const size_t begin = frames_.size();
    const std::span<const uint32_t> shown = view_.frames(kernel, id);
    frames_.insert(frames_.end(), shown.begin(), shown.end());
    known->second = keep(begin);
    parts_.back().kind = kernel ? Kind::kstack : Kind::ustack;
    if (keeps_elements_) {
      const std::span<const p::Element> elements = view_.shown_elements();
      parts_.back().elements = elements_.size();
      elements_.insert(elements_.end(), elements.begin(), elements.end());
    }
  }
  return known->second;
}

std::span<const WorkPaths::PathSegment> WorkPaths::launch(const LaunchSite& site) {
  path_.clear();
  const bool node = site.is_graph_node();
  if (!node || graph_ != GraphStacks::capture) {
    add_launch(site);
  }
  if (node && graph_ != GraphStacks::launch) {
    if (index(site.capture) != 0 && graph_ == GraphStacks::both) {
      add_note(PathNote::captured_at);
    }
    add_capture(site);
  }
  return path_;
}

std::span<const WorkPaths::PathSegment> WorkPaths::waker(const p::Work& work) {
  path_.clear();
  const std::string_view name =
      work.op == p::Op::off_cpu ? p::off_cpu_waker(tables_.text(work.name)) : std::string_view();
  if (!name.empty()) {
    const auto [known, is_new] = wakers_.try_emplace(index(work.name), kNothing);
    if (is_new) {
      known->second = text(std::string(kWokenBy) + std::string(name) + "]", FrameClass::mark);
    }
    path_.push_back(known->second);
    path_.push_back(stack(false, work.capture));
  }
  return path_;
}

void WorkPaths::add_launch(const LaunchSite& site) {
  const PathSegment user = stack(false, site.ustack);
  const PathSegment kernel = stack(true, site.kstack);
  if (parts_[user].size == 0 && parts_[kernel].size == 0) {
    const bool hidden = !tables_.stack(false, site.ustack).empty() || !tables_.stack(true, site.kstack).empty();
    return add_note(hidden ? PathNote::all_hidden : site.no_launch);
  }
  path_.push_back(user);
  if (parts_[kernel].size > 0) {
    add_note(PathNote::separator);
    path_.push_back(kernel);
  }
}

void WorkPaths::add_capture(const LaunchSite& site) {
  if (index(site.capture) == 0) {
    return add_note(site.no_capture);
  }
  const PathSegment capture = stack(false, site.capture);
  path_.push_back(capture);
  if (parts_[capture].size == 0 && !tables_.stack(false, site.capture).empty()) {
    add_note(PathNote::all_hidden);
  }
}

void WorkPaths::add_note(PathNote note) {
  PathSegment& part = notes_[static_cast<size_t>(note)];
  if (part == kNothing && note != PathNote::none) {
    part = text(kNotes.at(static_cast<size_t>(note)), note == PathNote::separator     ? FrameClass::separator
                                                      : note == PathNote::captured_at ? FrameClass::mark
                                                                                      : FrameClass::note);
  }
  path_.push_back(part);
}

WorkPaths::PathSegment WorkPaths::text(std::string_view label, FrameClass cls) {
  frames_.push_back(view_.text(label, cls));
  return keep(frames_.size() - 1);
}

WorkPaths::PathSegment WorkPaths::keep(size_t begin) {
  parts_.push_back({.begin = begin, .size = frames_.size() - begin});
  return static_cast<PathSegment>(parts_.size() - 1);
}

uint32_t WorkPaths::work(const p::Work& work, FrameClass cls) {
  const uint64_t key = (uint64_t{static_cast<uint8_t>(cls)} << 40U) | (uint64_t{static_cast<uint8_t>(work.op)} << 32U) |
                       index(work.name);
  const auto [known, is_new] = works_.try_emplace(key, 0);
  if (is_new) {
    known->second = view_.text(analyze::work_label(tables_, work), cls);
  }
  return known->second;
}

LaunchSite WorkPaths::representative(LaunchSite site) {
  site.ustack = view_.representative(false, site.ustack);
  site.kstack = view_.representative(true, site.kstack);
  site.capture = view_.representative(false, site.capture);
  return site;
}

}  // namespace gpuprof::analyze
