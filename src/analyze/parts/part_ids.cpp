#include "analyze/parts/part_ids.h"

#include <charconv>
#include <string_view>
#include <type_traits>

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

// The tables keep an address as text, "0x7f12".
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

void PartIds::put(const p::Record& record) {
  if (status_) {
    status_ = sink_(record);
  }
}

template <typename Id, typename Make>
Id PartIds::known_or(Kind kind, Id id, const Make& make) {
  if (index(id) == 0) {
    return id;
  }
  const uint32_t known = ids_[kind].find(index(id));
  if (known != p::IdIndex::kNone) {
    return Id{known};
  }
  auto definition = make();  // with the ids that it needs, which are written by now
  const uint32_t added = ++last_[kind];
  ids_[kind].insert(index(id), added);
  definition.id = Id{added};
  put(definition);
  return Id{added};
}

p::StringId PartIds::string(p::StringId id) {
  return known_or(kString, id, [&] { return p::String{{}, whole_.tables().text(id)}; });
}

p::FrameId PartIds::frame(const p::Frame& known) {
  return known_or(kFrame, known.id, [&] {
    p::Frame r = known;
    r.name = string(r.name);
    r.file = string(r.file);
    r.module = string(r.module);
    r.build_id = string(r.build_id);
    return r;
  });
}

p::StackId PartIds::stack(bool kernel, p::StackId id) {
  std::vector<p::StackElement> elements;
  return known_or(kernel ? kKstack : kUstack, id, [&] {
    for (const p::Element element : whole_.tables().stack(kernel, id)) {
      if (element.is_label) {
        elements.push_back(label_element(whole_.tables().label(element)));
      } else {
        elements.push_back({.frame = frame(whole_.tables().frame(element))});
      }
    }
    return p::Stack{.kernel = kernel, .elements = elements};
  });
}

p::ProcessId PartIds::process(p::ProcessId id) {
  return known_or(kProcess, id, [&] {
    processes_.push_back(id);
    p::Process r = *whole_.tables().process(id);
    r.name = string(r.name);
    r.command = string(r.command);
    r.rank = string(r.rank);
    r.host = string(r.host);
    return r;
  });
}

p::DeviceId PartIds::device(p::DeviceId id) {
  return known_or(kDevice, id, [&] {
    devices_.push_back(id);
    p::Device r = *whole_.tables().device(id);
    r.backend = string(r.backend);
    r.name = string(r.name);
    r.uuid = string(r.uuid);
    return r;
  });
}

p::RangeId PartIds::range(p::RangeId id) {  // the reader bounds how deep they lie in each other
  return known_or(kRange, id, [&] {
    p::Range r = *whole_.tables().range(id);
    r.parent = range(r.parent);
    r.domain = string(r.domain);
    r.name = string(r.name);
    return r;
  });
}

p::WorkId PartIds::work(p::WorkId id) {
  return known_or(kWork, id, [&] {
    p::Work r = *whole_.tables().work(id);
    r.process = process(r.process);
    r.thread = string(r.thread);
    r.ustack = stack(false, r.ustack);
    r.kstack = stack(true, r.kstack);
    r.capture = stack(false, r.capture);
    r.range = range(r.range);
    r.device = device(r.device);
    r.name = string(r.name);
    return r;
  });
}

p::GpuModuleId PartIds::gpu_module(p::GpuModuleId id) {
  return known_or(kGpuModule, id, [&] {
    p::GpuModule r = *whole_.tables().gpu_module(id);
    r.name = string(r.name);
    r.hash = string(r.hash);
    return r;
  });
}

p::GpuPlaceId PartIds::gpu_place(p::GpuPlaceId id) {
  std::vector<p::FrameId> frames;
  return known_or(kGpuPlace, id, [&] {
    places_.push_back(id);
    p::GpuPlace r = *whole_.tables().gpu_place(id);
    r.module = gpu_module(r.module);
    r.function = string(r.function);
    r.instruction = string(r.instruction);
    for (const p::Element element : whole_.tables().place_frames(id)) {
      frames.push_back(frame(whole_.tables().frame(element)));
    }
    r.frames = frames;
    return r;
  });
}

p::SamplingId PartIds::sampling(p::SamplingId id) {
  return known_or(kSampling, id, [&] {
    p::Sampling r = whole_.sampling(id);
    r.unit = string(r.unit);
    return r;
  });
}

Status PartIds::map(p::Record& row) {
  std::visit(
      [this]<typename R>(R& r) {
        if constexpr (kIsRow<R>) {
          if constexpr (requires { r.work; }) {
            r.work = work(r.work);
          }
          if constexpr (requires { r.process; }) {
            r.process = process(r.process);
          }
          if constexpr (requires { r.device; }) {
            r.device = device(r.device);
          }
          if constexpr (requires { r.place; }) {
            r.place = gpu_place(r.place);
          }
          if constexpr (requires { r.range; }) {
            r.range = range(r.range);
          }
          if constexpr (std::is_same_v<R, p::Call>) {
            r.ustack = stack(false, r.ustack);
            r.function = string(r.function);
          } else if constexpr (std::is_same_v<R, p::GpuCount>) {
            r.name = string(r.name);
          } else if constexpr (std::is_same_v<R, p::EuStall>) {
            r.reason = string(r.reason);
            r.sampling = sampling(r.sampling);
          }
        }
      },
      row);
  return status_;
}

Status PartIds::explain_places() {
  for (size_t i = 0; i < places_.size(); ++i) {  // which grow meanwhile
    p::GpuInstruction r = whole_.tables().instruction(places_[i]);
    const bool said_by_place = index(whole_.tables().gpu_place(places_[i])->instruction) != 0;
    if ((said_by_place || index(r.text) == 0) && index(r.waits_for) == 0 && index(r.what) == 0) {
      continue;
    }
    r.place = gpu_place(r.place);
    r.text = string(r.text);
    r.waits_for = gpu_place(r.waits_for);
    r.what = string(r.what);
    put(r);
  }
  return status_;
}

}  // namespace gpuprof::analyze
