#include "output/export/perfetto_tracks.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "analyze/dimensions.h"
#include "analyze/labels.h"
#include "base/utf8.h"
#include "output/export/perfetto_fields.h"
#include "output/export/protobuf.h"
#include "output/text.h"

namespace gpuprof::output::perfetto {
namespace {

namespace p = gpuprof::profile;

std::string shown(std::string_view text) {
  return escaped(shown_text(text));
}

// "stream 7 (2)"
std::string lane_name(const std::string& name, size_t lane) {
  return lane == 0 ? name : name + " (" + std::to_string(lane + 1) + ")";
}

std::string process_name(const p::Tables& tables, const p::Process* process) {
  if (process == nullptr) {
    return std::string(analyze::kUnknown);
  }
  std::string name = shown(tables.text(process->name));
  const std::pair<const char*, p::StringId> facts[] = {{", rank ", process->rank}, {", host ", process->host}};
  for (const auto& [word, text] : facts) {
    if (index(text) != 0) {
      name.append(word).append(shown(tables.text(text)));
    }
  }
  return name;
}

}  // namespace

bool NestingLane::take(uint64_t start_ns, uint64_t end_ns) {
  const auto here = slices_.lower_bound({start_ns, 0});
  const auto behind = slices_.upper_bound({start_ns, UINT64_MAX});
  const auto at_end = slices_.lower_bound({end_ns, 0});
  if (end_ns > start_ns && at_end != slices_.end() && at_end->first == end_ns) {
    return false;
  }
  if (behind != here && end_of(*std::prev(behind)) < end_ns) {
    return false;
  }
  for (auto inner = behind; inner != slices_.end() && inner->first < end_ns; ++inner) {
    if (end_of(*inner) > end_ns) {
      return false;
    }
  }
  size_t looked_at = 0;
  for (auto outer = here; outer != slices_.begin() && looked_at < kLookBack; ++looked_at) {
    --outer;
    if (end_of(*outer) > start_ns && end_of(*outer) < end_ns) {
      return false;
    }
  }
  slices_.emplace(start_ns, UINT64_MAX - end_ns);
  if (slices_.size() > kRemembered) {
    slices_.erase(slices_.begin());
  }
  return true;
}

uint64_t Tracks::process(p::ProcessId id) {
  const auto [known, is_new] = processes_.try_emplace(index(id));
  if (is_new) {
    known->second = ++count_;
    const p::Process* const row = tables_.process(id);
    std::string process;
    Protobuf message(process);
    message.number(process::kPid, numbers_.process(id, row == nullptr ? 0 : row->pid));
    if (row != nullptr && index(row->command) != 0) {
      message.bytes(process::kCmdline, shown(tables_.text(row->command)));
    }
    message.bytes(process::kProcessName, process_name(tables_, row));
    std::string track;
    Protobuf descriptor(track);
    descriptor.number(descriptor::kUuid, known->second);
    descriptor.bytes(descriptor::kProcess, process);
    std::string packet;
    Protobuf(packet).bytes(packet::kTrackDescriptor, track);
    packets_.put(packet);
  }
  return known->second;
}

uint64_t Tracks::device(p::DeviceId id) {
  const auto [known, is_new] = devices_.try_emplace(index(id));
  if (is_new) {
    known->second = ++count_;
    std::string track;
    Protobuf descriptor(track);
    descriptor.number(descriptor::kUuid, known->second);
    descriptor.bytes(descriptor::kName, shown(analyze::device_label(tables_, id)));
    std::string packet;
    Protobuf(packet).bytes(packet::kTrackDescriptor, track);
    packets_.put(packet);
  }
  return known->second;
}

uint64_t Tracks::child(uint64_t parent, const std::string& name) {
  const auto [known, is_new] = children_.try_emplace(std::pair(parent, name));
  if (is_new) {
    known->second = ++count_;
    std::string track;
    Protobuf descriptor(track);
    descriptor.number(descriptor::kUuid, known->second);
    descriptor.bytes(descriptor::kName, name);
    descriptor.number(descriptor::kParentUuid, parent);
    std::string packet;
    Protobuf(packet).bytes(packet::kTrackDescriptor, track);
    packets_.put(packet);
  }
  return known->second;
}

uint64_t Tracks::counter(p::DeviceId id, const char* name) {
  const uint64_t uuid = ++count_;
  std::string counter;
  Protobuf(counter).number(counter::kUnit, counter::kUnitCount);
  std::string track;
  Protobuf descriptor(track);
  descriptor.number(descriptor::kUuid, uuid);
  descriptor.bytes(descriptor::kName, name);
  descriptor.number(descriptor::kParentUuid, device(id));
  descriptor.bytes(descriptor::kCounter, counter);
  std::string packet;
  Protobuf(packet).bytes(packet::kTrackDescriptor, track);
  packets_.put(packet);
  return uuid;
}

std::optional<uint64_t> Tracks::of_thread(p::ProcessId id, uint32_t tid, uint64_t start_ns, uint64_t end_ns) {
  const auto [known, is_new] = threads_.try_emplace({index(id), tid});
  Thread& thread = known->second;
  if (is_new) {
    thread.process = process(id);
    const p::Process* const row = tables_.process(id);
    thread.pid = numbers_.process(id, row == nullptr ? 0 : row->pid);
    thread.uuid = ++count_;
    describe_thread(thread, tid, {});
  }
  return lane(thread.lanes, thread.uuid, thread.process, "thread " + std::to_string(tid), start_ns, end_ns);
}

std::optional<uint64_t> Tracks::of_ranges(p::ProcessId id, uint32_t tid, uint64_t start_ns, uint64_t end_ns) {
  const std::string name = tid == 0 ? "NVTX" : "NVTX of thread " + std::to_string(tid);
  return lane(range_lanes_[{index(id), tid}], 0, process(id), name, start_ns, end_ns);
}

// `first`: the track of the first lane, where that is not one by `name`.
std::optional<uint64_t> Tracks::lane(std::vector<NestingLane>& lanes, uint64_t first, uint64_t parent,
                                     const std::string& name, uint64_t start_ns, uint64_t end_ns) {
  for (size_t i = 0; i < kMostLanes; ++i) {
    if (i == lanes.size()) {
      lanes.emplace_back();
    }
    if (lanes[i].take(start_ns, end_ns)) {
      return i == 0 && first != 0 ? first : child(parent, lane_name(name, i));
    }
  }
  return std::nullopt;
}

// Slices of a stream are side by side.
std::optional<uint64_t> Tracks::of_device(p::DeviceId id, const std::string& name, uint64_t start_ns, uint64_t end_ns) {
  std::vector<Lane>& lanes = device_lanes_[{index(id), name}];
  for (size_t i = 0; i < kMostLanes; ++i) {
    if (i == lanes.size()) {
      lanes.emplace_back();
    }
    // Where one before it in the file begins at its end, that one's beginning would come first.
    const bool touches = end_ns > start_ns && lanes[i].begins_at(end_ns);
    if (!touches && lanes[i].take(start_ns, end_ns)) {
      return child(device(id), lane_name(name, i));
    }
  }
  return std::nullopt;
}

void Tracks::describe_thread(const Thread& thread, uint32_t tid, std::string_view name) {
  std::string row;
  Protobuf message(row);
  message.number(thread::kPid, thread.pid);
  message.number(thread::kTid, tid);
  if (!name.empty()) {
    message.bytes(thread::kThreadName, name);
  }
  std::string track;
  Protobuf descriptor(track);
  descriptor.number(descriptor::kUuid, thread.uuid);
  descriptor.number(descriptor::kParentUuid, thread.process);
  descriptor.bytes(descriptor::kThread, row);
  std::string packet;
  Protobuf(packet).bytes(packet::kTrackDescriptor, track);
  packets_.put(packet);
}

void Tracks::name_threads() {
  std::map<std::pair<uint32_t, uint32_t>, std::string_view> names;
  for (const p::Work& work : tables_.works()) {
    if (index(work.thread) != 0) {
      names.try_emplace({index(work.process), work.tid}, tables_.text(work.thread));
    }
  }
  for (const auto& [key, thread] : threads_) {
    if (const auto name = names.find(key); name != names.end()) {
      describe_thread(thread, key.second, shown(name->second));
    }
  }
}

}  // namespace gpuprof::output::perfetto
