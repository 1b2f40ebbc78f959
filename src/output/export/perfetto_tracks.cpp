#include "output/export/perfetto_tracks.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "analyze/rows/dimensions.h"
#include "base/text/utf8.h"
#include "output/export/perfetto_fields.h"
#include "output/export/protobuf.h"
#include "output/text.h"

namespace gpuprof::output::perfetto {
namespace {

namespace p = gpuprof::profile;

std::string shown(std::string_view text) {
  return escaped(shown_text(text));
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
  size_t examined = 0;
  for (auto outer = here; outer != slices_.begin() && examined < kLookBack; ++examined) {
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
    const p::Process* const row = tables_.process(id);
    std::string process;
    Protobuf message(process);
    message.number(process::kPid, pid_of(id));
    if (row != nullptr && index(row->command) != 0) {
      message.bytes(process::kCmdline, shown(tables_.text(row->command)));
    }
    message.bytes(process::kProcessName, escaped(process_name(tables_, id)));
    known->second = ++count_;
    describe(known->second, [&](Protobuf& descriptor) { descriptor.bytes(descriptor::kProcess, process); });
  }
  return known->second;
}

uint64_t Tracks::pid_of(p::ProcessId id) {
  const p::Process* const row = tables_.process(id);
  return numbers_.process(id, row == nullptr ? 0 : row->pid);
}

uint64_t Tracks::device(p::DeviceId id) {
  const auto [known, is_new] = devices_.try_emplace(index(id));
  if (is_new) {
    known->second = ++count_;
    describe(known->second, [&](Protobuf& descriptor) {
      descriptor.bytes(descriptor::kName, shown(analyze::device_label(tables_, id)));
    });
  }
  return known->second;
}

uint64_t Tracks::child(uint64_t parent, const std::string& name) {
  const auto [known, is_new] = children_.try_emplace(std::pair(parent, name));
  if (is_new) {
    known->second = ++count_;
    describe(known->second, [&](Protobuf& descriptor) {
      descriptor.bytes(descriptor::kName, name);
      descriptor.number(descriptor::kParentUuid, parent);
    });
  }
  return known->second;
}

Track Tracks::counter(p::DeviceId id, const char* name) {
  const uint64_t uuid = ++count_;
  std::string counter;
  Protobuf(counter).number(counter::kUnit, counter::kUnitCount);
  const uint64_t parent = device(id);
  describe(uuid, [&](Protobuf& descriptor) {
    descriptor.bytes(descriptor::kName, name);
    descriptor.number(descriptor::kParentUuid, parent);
    descriptor.bytes(descriptor::kCounter, counter);
  });
  return {.tid = uuid};
}

std::optional<Track> Tracks::of_thread(p::ProcessId id, uint32_t tid, uint64_t start_ns, uint64_t end_ns) {
  const auto [known, is_new] = threads_.try_emplace({index(id), tid});
  Thread& thread = known->second;
  if (is_new) {
    thread.process = process(id);
    thread.pid = pid_of(id);
    thread.uuid = ++count_;
    describe_thread(thread, tid, {});
  }
  return lane(thread.lanes, thread.uuid, thread.process, "thread " + std::to_string(tid), start_ns, end_ns);
}

std::optional<Track> Tracks::of_ranges(p::ProcessId id, uint32_t tid, uint64_t start_ns, uint64_t end_ns) {
  const std::string name = tid == 0 ? "NVTX" : "NVTX of thread " + std::to_string(tid);
  return lane(range_lanes_[{index(id), tid}], 0, process(id), name, start_ns, end_ns);
}

// Makes each lane a track named `name` below the track `parent`. If `first` is not 0, it is the track of the first
// lane.
std::optional<Track> Tracks::lane(std::vector<NestingLane>& lanes, uint64_t first, uint64_t parent,
                                  const std::string& name, uint64_t start_ns, uint64_t end_ns) {
  const auto free = free_lane(lanes, [&](NestingLane& candidate) { return candidate.take(start_ns, end_ns); });
  if (!free) {
    return std::nullopt;
  }
  return Track{.tid = *free == 0 && first != 0 ? first : child(parent, lane_name(name, *free))};
}

// Each lane of a stream is a separate track.
std::optional<Track> Tracks::of_device(p::DeviceId id, const std::string& name, uint64_t start_ns, uint64_t end_ns) {
  const auto free = free_lane(device_lanes_[{index(id), name}], [&](Lane& candidate) {
    // Perfetto reads events with equal times in file order. If a slice of the lane begins at `end_ns`, Perfetto would
    // read its start before the end of the new slice.
    const bool touches = end_ns > start_ns && candidate.begins_at(end_ns);
    return !touches && candidate.take(start_ns, end_ns);
  });
  return free ? std::optional(Track{.tid = child(device(id), lane_name(name, *free))}) : std::nullopt;
}

void Tracks::describe_thread(const Thread& thread, uint32_t tid, std::string_view name) {
  std::string row;
  Protobuf message(row);
  message.number(thread::kPid, thread.pid);
  message.number(thread::kTid, tid);
  if (!name.empty()) {
    message.bytes(thread::kThreadName, name);
  }
  describe(thread.uuid, [&](Protobuf& descriptor) {
    descriptor.number(descriptor::kParentUuid, thread.process);
    descriptor.bytes(descriptor::kThread, row);
  });
}

template <typename Put>
void Tracks::describe(uint64_t uuid, Put put_fields) {
  std::string packet;
  Protobuf(packet).message(packet::kTrackDescriptor, [&](Protobuf& descriptor) {
    descriptor.number(descriptor::kUuid, uuid);
    put_fields(descriptor);
  });
  packets_.put(packet);
}

void Tracks::name_threads() {
  const auto names = thread_names(tables_);
  for (const auto& [key, thread] : threads_) {
    if (const auto name = names.find(key); name != names.end()) {
      describe_thread(thread, key.second, shown(name->second));
    }
  }
}

}  // namespace gpuprof::output::perfetto
