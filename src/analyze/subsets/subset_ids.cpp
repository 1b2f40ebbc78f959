#include "analyze/subsets/subset_ids.h"

#include <charconv>
#include <string_view>
#include <type_traits>
#include <variant>

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

// Converts an address label such as "0x7f12" back to a number: the tables store addresses as text.
p::StackElement label_element(std::string_view label) {
  p::StackElement element;
  if (label.size() > 2 && label.starts_with("0x")) {
    const char* const last = label.data() + label.size();
    const auto [end, error] = std::from_chars(label.data() + 2, last, element.address, 16);
    if (error == std::errc() && end == last) {
      element.is_address = true;
      return element;
    }
  }
  element.address = 0;
  element.text = label;
  return element;
}

}  // namespace

void SubsetIds::put(const p::Record& record) {
  if (status_) {
    status_ = sink_(record);
  }
}

p::Process SubsetIds::definition(p::ProcessId id) {
  processes_.push_back(id);
  return *tables().process(id);
}

p::Device SubsetIds::definition(p::DeviceId id) {
  devices_.push_back(id);
  return *tables().device(id);
}

p::GpuPlace SubsetIds::definition(p::GpuPlaceId id) {
  places_.push_back(id);
  return *tables().gpu_place(id);
}

void SubsetIds::map_frames(p::Stack& stack) {
  elements_.clear();
  for (const p::Element element : tables().stack(stack.kernel, stack.id)) {
    if (element.is_label) {
      elements_.push_back(label_element(tables().label(element)));
    } else {
      p::FrameId& frame = elements_.emplace_back().frame;
      frame = tables().frame(element).id;
      map_id(p::kFrameIds, frame);
    }
  }
  stack.elements = elements_;
}

void SubsetIds::map_frames(p::GpuPlace& place) {
  frames_.clear();
  for (const p::Element element : tables().place_frames(place.id)) {
    map_id(p::kFrameIds, frames_.emplace_back(tables().frame(element).id));
  }
  place.frames = frames_;
}

template <typename Id>
void SubsetIds::map_id(p::IdSpace space, Id& id) {
  if (index(id) == 0) {
    return;
  }
  if (!ids_[space].has(index(id))) {
    auto made = definition(id);
    if constexpr (std::is_same_v<Id, p::StackId>) {
      made.kernel = space == p::kKstackIds;
    }
    map_ids(made);  // the definitions to which this one refers are written first
    map_frames(made);
    made.id = Id{++last_[space]};
    ids_[space].insert(index(id), last_[space]);
    put(made);
  }
  id = Id{ids_[space].find(index(id))};
}

template <typename R>
void SubsetIds::map_ids(R& record) {
  for_each_id(record, [&](p::IdSpace space, auto& id) {
    map_id(space, id);
    return true;
  });
}

void SubsetIds::add(p::ProcessId id) {
  map_id(p::kProcessIds, id);
}

void SubsetIds::add(p::DeviceId id) {
  map_id(p::kDeviceIds, id);
}

Status SubsetIds::map(p::Record& row) {
  if (const auto* idle = std::get_if<p::Idle>(&row)) {
    p::WorkId work = idle->work;
    // Write the WORK before the device of an IDLE record, because other rows have this order too.
    map_id(p::kWorkIds, work);
  }
  std::visit([this](auto& r) { map_ids(r); }, row);
  return status_;
}

Status SubsetIds::explain_places() {
  for (size_t i = 0; i < places_.size(); ++i) {  // map_ids() may append to places_, so an index is used
    p::GpuInstruction r = tables().instruction(places_[i]);
    const bool said_by_place = index(tables().gpu_place(places_[i])->instruction) != 0;
    if ((said_by_place || index(r.text) == 0) && index(r.waits_for) == 0 && index(r.what) == 0) {
      continue;
    }
    map_ids(r);
    put(r);
  }
  return status_;
}

}  // namespace gpuprof::analyze
