#include "analyze/paths/walk_frames.h"

#include "analyze/names/labels.h"

namespace gpuprof::analyze {

namespace p = gpuprof::profile;

// Converts path segments in the order of their numbers, so that frame ids are deterministic. ids_ and WorkPaths store
// the frames of all segments in the same order.
std::span<const uint32_t> WalkFrames::of(WorkPaths::PathSegment part) {
  for (; known_parts_ <= part; ++known_parts_) {
    add_part(static_cast<WorkPaths::PathSegment>(known_parts_));
  }
  return std::span(ids_).subspan(paths_.begin(part), paths_.frames(part).size());
}

void WalkFrames::add_part(WorkPaths::PathSegment part) {
  const std::span<const uint32_t> shown = paths_.frames(part);
  const size_t begin = paths_.begin(part);
  const WorkPaths::Kind kind = paths_.kind(part);
  ids_.resize(begin + shown.size());
  if (kind == WorkPaths::Kind::text) {
    // Reverse order: ids are assigned from the innermost NVTX range outwards.
    for (size_t i = shown.size(); i > 0; --i) {
      ids_[begin + i - 1] = text(shown[i - 1]);
    }
    return;
  }
  const std::span<const p::Element> elements = paths_.elements(part);
  const ElementSource whose = kind == WorkPaths::Kind::kstack ? ElementSource::kstack : ElementSource::ustack;
  for (size_t i = 0; i < shown.size(); ++i) {
    ids_[begin + i] = of_element(whose, elements[i], shown[i]);
  }
}

uint32_t WalkFrames::of_element(ElementSource whose, p::Element element, uint32_t shown) {
  const uint64_t key =
      (uint64_t{static_cast<uint8_t>(whose)} << 33U) | (uint64_t{element.is_label} << 32U) | element.position;
  const auto [known, is_new] = elements_.try_emplace(key, count());
  if (is_new) {
    WalkFrame frame{.label = paths_.view().label(shown),
                    .name = frame_name(tables_, element),
                    .cls = whose == ElementSource::place ? FrameClass::gpu : paths_.view().frame_class(shown)};
    if (!element.is_label) {
      const p::Frame& known_frame = tables_.frame(element);
      frame.file = tables_.text(known_frame.file);
      frame.line = numbers_ ? known_frame.line : 0;
      frame.module = tables_.text(known_frame.module);
      frame.build_id = tables_.text(known_frame.build_id);
      frame.address = known_frame.address;
    }
    add(frame);
  }
  return known->second;
}

uint32_t WalkFrames::text(uint32_t shown) {
  const auto [known, is_new] = texts_.try_emplace(shown, count());
  if (is_new) {
    const std::string_view label = paths_.view().label(shown);
    add({.label = label, .name = label, .cls = paths_.view().frame_class(shown)});
  }
  return known->second;
}

uint32_t WalkFrames::add(const WalkFrame& frame) {
  frames_.push_back(frame);
  return count() - 1;
}

}  // namespace gpuprof::analyze
