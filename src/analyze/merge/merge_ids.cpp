#include "analyze/merge/merge_ids.h"

#include <type_traits>
#include <variant>

#include "profile/writer.h"

namespace gpuprof::analyze {

namespace p = gpuprof::profile;

std::pair<p::StringId, bool> MergeIds::begin_input(std::string_view host) {
  maps_ = {};
  host_name_ = host;
  const auto [id, is_new] = intern(p::kStringIds, p::String{{}, host}, {});
  host_ = p::StringId{id};
  return {host_, is_new};
}

bool MergeIds::map(p::Record& record) {
  return std::visit([this](auto& r) { return this->map_record(r); }, record);
}

template <typename Id>
void MergeIds::map_id(p::IdSpace space, Id& id) const {
  if (index(id) != 0) {
    id = Id{maps_[space].find(index(id))};
  }
}

template <typename R>
bool MergeIds::map_record(R& r) {
  for_each_id(r, [&](p::IdSpace space, auto& id) {
    map_id(space, id);
    return true;
  });
  map_lists(r);
  if constexpr (std::is_same_v<R, p::Process>) {
    r.host = index(r.host) == 0 ? host_ : r.host;
  }
  if constexpr (p::kIsDefinition<R>) {
    return define(r);
  } else if constexpr (std::is_same_v<R, p::GpuInstruction>) {
    // If several inputs have a GPU_INSTRUCTION record for one code location, the result gets the first, even if a later
    // one has more details.
    return explained_.insert(index(r.place)).second;
  }
  return true;
}

void MergeIds::map_lists(p::Stack& stack) {
  elements_.assign(stack.elements.begin(), stack.elements.end());
  for (p::StackElement& element : elements_) {
    map_id(p::kFrameIds, element.frame);
  }
  stack.elements = elements_;
}

void MergeIds::map_lists(p::GpuPlace& place) {
  frames_.assign(place.frames.begin(), place.frames.end());
  for (p::FrameId& frame : frames_) {
    map_id(p::kFrameIds, frame);
  }
  place.frames = frames_;
}

template <typename R>
bool MergeIds::define(R& r) {
  const p::IdSpace space = own_space(r);
  std::string_view apart;
  if constexpr (std::is_same_v<R, p::Device>) {
    // Devices without a uuid are equal only if their hosts are equal.
    apart = index(r.uuid) == 0 ? std::string_view(host_name_) : std::string_view();
  }
  const uint32_t before = index(r.id);
  r.id = {};
  const auto [id, is_new] = intern(space, r, apart);
  r.id = decltype(r.id){id};
  if (!maps_[space].has(before)) {
    maps_[space].insert(before, id);
  }
  return is_new;
}

std::pair<uint32_t, bool> MergeIds::intern(p::IdSpace space, const p::Record& record, std::string_view apart) {
  key_ = apart;
  p::format_line(record, key_);
  Definitions& known = definitions_[space];
  const auto [found, is_new] = known.ids.try_emplace(key_, known.last + 1);
  if (is_new) {
    ++known.last;
  }
  return {found->second, is_new};
}

}  // namespace gpuprof::analyze
