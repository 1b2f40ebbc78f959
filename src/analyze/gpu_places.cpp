#include "analyze/gpu_places.h"

#include <charconv>
#include <string_view>

#include "analyze/labels.h"
#include "base/hash.h"

namespace gpuprof::analyze {

namespace p = gpuprof::profile;

const GpuPlaces::Shown& GpuPlaces::shown(p::GpuPlaceId id, p::StringId kernel) {
  const uint32_t apart = tables_.place_frames(id).empty() ? index(kernel) : 0;
  if (const uint32_t position = tables_.position(id); position != p::IdIndex::kNone) {
    Shown& first = first_[position];
    if (first.run.size == 0) {
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
  path_.clear();
  put_lines(place, kernel);
  path_.push_back(text_label(place.instruction, FrameClass::gpu_detail));
  return {tree_.keep(path_), offset_label(place.offset), apart};
}

// The source lines; where they are not known, the module, and the function where it is not the kernel itself.
void GpuPlaces::put_lines(const p::GpuPlace& place, p::StringId kernel) {
  for (const p::Element frame : tables_.place_frames(place.id)) {
    path_.push_back(tree_.label(tree_.intern(view_.label(view_.place_frame(frame))), FrameClass::gpu));
  }
  if (!path_.empty()) {
    return;
  }
  const p::GpuModule* const module = tables_.gpu_module(place.module);
  if (module != nullptr && index(module->name) != 0) {
    path_.push_back(text_label(module->name, FrameClass::gpu));
  }
  if (index(place.function) != 0 && place.function != kernel) {
    path_.push_back(text_label(place.function, FrameClass::gpu));
  }
}

// Many places have the same offset, each in its own kernel.
LabelId GpuPlaces::offset_label(uint64_t offset) {
  constexpr uint64_t kInstruction = 16;  // bytes, mostly
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
