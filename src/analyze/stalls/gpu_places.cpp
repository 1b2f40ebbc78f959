#include "analyze/stalls/gpu_places.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "analyze/names/labels.h"
#include "base/hash.h"

namespace gpuprof::analyze {

namespace p = gpuprof::profile;

GpuPlaces::GpuPlaces(const p::Tables& tables, StackView& view, FlameTree& tree, const Leaves& leaves)
    : tables_(tables),
      view_(view),
      tree_(tree),
      leaves_(leaves),
      shows_stall_(has(leaves, Leaf::stall)),
      shows_instruction_(has(leaves, Leaf::instruction) || has(leaves, Leaf::offset)),
      first_(tables.gpu_places().size()) {}

const GpuPlaces::Shown& GpuPlaces::shown(p::GpuPlaceId id, p::StringId kernel) {
  const uint32_t apart = tables_.place_frames(id).empty() ? index(kernel) : 0;
  if (const uint32_t position = tables_.position(id); position != p::IdIndex::kNone) {
    Shown& first = first_[position];
    if (first.kernel == kNotYet) {
      first = show(id, kernel, apart);
    }
    if (first.kernel == apart) {
      return first;
    }
  }
  const auto [known, is_new] = others_.try_emplace(join_ids(index(id), apart));
  if (is_new) {
    known->second = show(id, kernel, apart);
  }
  return known->second;
}

GpuPlaces::Shown GpuPlaces::show(p::GpuPlaceId id, p::StringId kernel, uint32_t apart) {
  static const p::GpuPlace kUnknownPlace;
  const p::GpuPlace* const known = tables_.gpu_place(id);
  const p::GpuPlace& place = known == nullptr ? kUnknownPlace : *known;
  const auto stall = std::find(leaves_.begin(), leaves_.end(), Leaf::stall);
  const auto keep = [&](Leaves::const_iterator begin, Leaves::const_iterator end) {
    path_.clear();
    for (auto leaf = begin; leaf != end; ++leaf) {
      put(*leaf, place, kernel);
    }
    return tree_.keep(path_);
  };
  Shown shown{.above = keep(leaves_.begin(), stall), .kernel = apart};
  if (stall != leaves_.end()) {
    shown.below = keep(stall + 1, leaves_.end());
  }
  return shown;
}

void GpuPlaces::put(Leaf leaf, const p::GpuPlace& place, p::StringId kernel) {
  switch (leaf) {
    case Leaf::function:
      return put_functions(place, kernel, false);
    case Leaf::line:
      return has(leaves_, Leaf::function) ? put_line_alone(place) : put_functions(place, kernel, true);
    case Leaf::instruction:
      return put_instruction(place);
    case Leaf::offset:
      path_.push_back(offset_label(place.offset));
      return;
    case Leaf::stall:  // the frame of a stall reason does not depend on the code location
      return;
  }
}

// Appends "clamp (saxpy.cu:3)" etc. If the code location has no frames, appends its module, and also its function
// unless the function is the kernel.
void GpuPlaces::put_functions(const p::GpuPlace& place, p::StringId kernel, bool lines) {
  const auto frames = tables_.place_frames(place.id);
  for (const p::Element frame : frames) {
    const uint32_t shown = view_.place_frame(frame);
    const std::string_view label = lines ? std::string_view(view_.label(shown)) : view_.name(shown);
    path_.push_back(tree_.label(tree_.intern(label), FrameClass::gpu));
  }
  if (!frames.empty()) {
    return;
  }
  const size_t before = path_.size();
  const p::GpuModule* const module = tables_.gpu_module(place.module);
  if (module != nullptr && index(module->name) != 0) {
    path_.push_back(text_label(module->name, FrameClass::gpu));
  }
  if (index(place.function) != 0 && place.function != kernel) {
    path_.push_back(text_label(place.function, FrameClass::gpu));
  }
  if (path_.size() == before && !shows_instruction_) {
    path_.push_back(text_label(p::StringId{}, FrameClass::gpu));
  }
}

void GpuPlaces::put_instruction(const p::GpuPlace& place) {
  const p::StringId text = tables_.instruction(place.id).text;
  path_.push_back(index(text) != 0 || has(leaves_, Leaf::offset) ? text_label(text, FrameClass::gpu_detail)
                                                                 : offset_label(place.offset));
}

// Appends "saxpy.cu:3" of the innermost function.
void GpuPlaces::put_line_alone(const p::GpuPlace& place) {
  const auto frames = tables_.place_frames(place.id);
  const std::string_view line = frames.empty() ? "" : view_.location(view_.place_frame(frames.back()));
  if (!line.empty()) {
    path_.push_back(tree_.label(tree_.intern(line), FrameClass::gpu));
  }
}

// Caches labels: many code locations have the same offset in different kernels.
LabelId GpuPlaces::offset_label(uint64_t offset) {
  constexpr uint64_t kInstruction = 16;  // size of most instructions in bytes
  Offset& known = offsets_[offset / kInstruction % offsets_.size()];
  if (known.value != offset || known.label == kNoLabel) {
    char text[20] = "0x";
    const auto end = std::to_chars(text + 2, text + sizeof text, offset, 16);
    const NameId name = tree_.intern(std::string_view(text, static_cast<size_t>(end.ptr - text)));
    known = {offset, tree_.label(name, FrameClass::gpu_detail)};
  }
  return known.label;
}

LabelId GpuPlaces::text_label(p::StringId id, FrameClass cls) {
  const auto [known, is_new] = text_labels_[static_cast<size_t>(cls)].try_emplace(index(id), kNoLabel);
  if (is_new) {
    const std::string_view text = tables_.text(id);
    known->second = tree_.label(tree_.intern(text.empty() ? kUnknown : text), cls);
  }
  return known->second;
}

}  // namespace gpuprof::analyze
