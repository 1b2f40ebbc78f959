#include "analyze/merge_ids.h"

#include <variant>

#include "profile/writer.h"

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

constexpr std::array<const char*, 11> kNames = {"STRING", "FRAME", "USTACK",     "KSTACK",    "PROCESS", "DEVICE",
                                                "RANGE",  "WORK",  "GPU_MODULE", "GPU_PLACE", "SAMPLING"};

}  // namespace

std::pair<p::StringId, bool> MergeIds::begin_input(std::string_view host) {
  maps_ = {};
  host_name_ = host;
  const auto [id, is_new] = intern(kString, p::String{{}, host}, {});
  host_ = p::StringId{id};
  return {host_, is_new};
}

MergeIds::Reason MergeIds::map(p::Record& record, bool& is_new) {
  return std::visit([&](auto& r) { return this->map_record(r, is_new); }, record);
}

template <typename Id>
bool MergeIds::map_id(Kind kind, Id& id) {
  const auto before = static_cast<uint32_t>(id);
  if (before == 0) {
    return true;
  }
  const uint32_t mapped = maps_[kind].find(before);
  if (mapped == p::IdIndex::kNone) {
    missing_ = std::string(kNames[kind]) + " " + std::to_string(before) + " is not defined";
    return false;
  }
  id = static_cast<Id>(mapped);
  return true;
}

std::pair<uint32_t, bool> MergeIds::intern(Kind kind, const p::Record& record, std::string_view apart) {
  key_ = apart;
  p::format_line(record, key_);
  Definitions& known = definitions_[kind];
  const auto [found, is_new] = known.ids.try_emplace(key_, known.last + 1);
  if (is_new) {
    ++known.last;
  }
  return {found->second, is_new};
}

template <typename R>
MergeIds::Reason MergeIds::define(Kind kind, R& record, bool& is_new, std::string_view apart) {
  const auto own = static_cast<uint32_t>(record.id);
  record.id = {};
  const auto [id, added] = intern(kind, record, apart);
  record.id = static_cast<decltype(record.id)>(id);
  is_new = added;
  const uint32_t before = maps_[kind].find(own);
  if (before != p::IdIndex::kNone && before != id) {
    return std::string(kNames[kind]) + " " + std::to_string(own) + " is already defined, with another value";
  }
  if (before == p::IdIndex::kNone) {
    maps_[kind].insert(own, id);
  }
  return std::nullopt;
}

MergeIds::Reason MergeIds::map_record(p::Frame& r, bool& is_new) {
  const bool known =
      map_id(kString, r.name) && map_id(kString, r.file) && map_id(kString, r.module) && map_id(kString, r.build_id);
  return known ? define(kFrame, r, is_new) : missing_;
}

MergeIds::Reason MergeIds::map_record(p::Stack& r, bool& is_new) {
  elements_.assign(r.elements.begin(), r.elements.end());
  for (p::StackElement& element : elements_) {
    if (!map_id(kFrame, element.frame)) {
      return missing_;
    }
  }
  r.elements = elements_;
  return define(r.kernel ? kKstack : kUstack, r, is_new);
}

MergeIds::Reason MergeIds::map_record(p::Process& r, bool& is_new) {
  if (!map_id(kString, r.name) || !map_id(kString, r.command) || !map_id(kString, r.rank) || !map_id(kString, r.host)) {
    return missing_;
  }
  if (index(r.host) == 0) {
    r.host = host_;
  }
  return define(kProcess, r, is_new);
}

MergeIds::Reason MergeIds::map_record(p::Device& r, bool& is_new) {
  if (!map_id(kString, r.backend) || !map_id(kString, r.name) || !map_id(kString, r.uuid)) {
    return missing_;
  }
  // Without a uuid, devices of two hosts that look alike are two devices.
  return define(kDevice, r, is_new, index(r.uuid) == 0 ? std::string_view(host_name_) : std::string_view());
}

MergeIds::Reason MergeIds::map_record(p::Range& r, bool& is_new) {
  const bool known = map_id(kRange, r.parent) && map_id(kString, r.domain) && map_id(kString, r.name);
  return known ? define(kRange, r, is_new) : missing_;
}

MergeIds::Reason MergeIds::map_record(p::Work& r, bool& is_new) {
  const bool known = map_id(kProcess, r.process) && map_id(kString, r.thread) && map_id(kUstack, r.ustack) &&
                     map_id(kKstack, r.kstack) && map_id(kUstack, r.capture) && map_id(kRange, r.range) &&
                     map_id(kDevice, r.device) && map_id(kString, r.name);
  return known ? define(kWork, r, is_new) : missing_;
}

MergeIds::Reason MergeIds::map_record(p::Idle& r, bool& /*is_new*/) {
  return map_id(kDevice, r.device) && map_id(kWork, r.work) ? Reason() : missing_;
}

MergeIds::Reason MergeIds::map_record(p::Call& r, bool& /*is_new*/) {
  return map_id(kProcess, r.process) && map_id(kUstack, r.ustack) && map_id(kString, r.function) ? Reason() : missing_;
}

MergeIds::Reason MergeIds::map_record(p::Span& r, bool& /*is_new*/) {
  return map_id(kProcess, r.process) && map_id(kRange, r.range) ? Reason() : missing_;
}

MergeIds::Reason MergeIds::map_record(p::GpuModule& r, bool& is_new) {
  return map_id(kString, r.name) && map_id(kString, r.hash) ? define(kGpuModule, r, is_new) : missing_;
}

MergeIds::Reason MergeIds::map_record(p::GpuPlace& r, bool& is_new) {
  frames_.assign(r.frames.begin(), r.frames.end());
  bool known = map_id(kGpuModule, r.module) && map_id(kString, r.function) && map_id(kString, r.instruction);
  for (p::FrameId& frame : frames_) {
    known = known && map_id(kFrame, frame);
  }
  r.frames = frames_;
  return known ? define(kGpuPlace, r, is_new) : missing_;
}

MergeIds::Reason MergeIds::map_record(p::GpuInstruction& r, bool& is_new) {
  const bool known = map_id(kGpuPlace, r.place) && map_id(kString, r.text) && map_id(kGpuPlace, r.waits_for) &&
                     map_id(kString, r.what);
  if (!known) {
    return missing_;
  }
  // Another input may have found out more, or less: the first one holds.
  is_new = told_.insert(index(r.place)).second;
  return Reason();
}

MergeIds::Reason MergeIds::map_record(p::Sampling& r, bool& is_new) {
  return map_id(kString, r.unit) ? define(kSampling, r, is_new) : missing_;
}

MergeIds::Reason MergeIds::map_record(p::GpuCount& r, bool& /*is_new*/) {
  const bool known =
      map_id(kProcess, r.process) && map_id(kDevice, r.device) && map_id(kGpuPlace, r.place) && map_id(kString, r.name);
  return known ? Reason() : missing_;
}

MergeIds::Reason MergeIds::map_record(p::EuStall& r, bool& /*is_new*/) {
  const bool known =
      map_id(kWork, r.work) && map_id(kGpuPlace, r.place) && map_id(kString, r.reason) && map_id(kSampling, r.sampling);
  return known ? Reason() : missing_;
}

}  // namespace gpuprof::analyze
