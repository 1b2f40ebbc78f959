// Assigns the slices of a timeline to lanes and tracks, and numbers the tracks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "profile/records.h"
#include "profile/tables.h"

namespace gpuprof::output {

// A row of slices that must not overlap. Remembers only its last kRemembered intervals, and rejects a slice that begins
// before the end of a forgotten interval.
class Lane {
 public:
  // Adds [start, end) and returns true. If it overlaps an interval of the lane, only returns false.
  bool take(uint64_t start_ns, uint64_t end_ns);

  [[nodiscard]] bool begins_at(uint64_t ns) const { return taken_.count(ns) != 0; }

 private:
  static constexpr size_t kRemembered = 4096;
  std::map<uint64_t, uint64_t> taken_;  // key: start, value: end
  uint64_t floor_ns_ = 0;
};

// Returns the first lane that accepts the slice, and adds a lane if needed. Returns nullopt if kMostLanes lanes exist
// and none accepts it.
template <typename L, typename Take>
std::optional<size_t> free_lane(std::vector<L>& lanes, Take take) {
  constexpr size_t kMostLanes = 256;
  for (size_t i = 0; i < kMostLanes; ++i) {
    if (i == lanes.size()) {
      lanes.emplace_back();
    }
    if (take(lanes[i])) {
      return i;
    }
  }
  return std::nullopt;
}

// Returns the name of a lane: "stream 7" for lane 0, "stream 7 (2)" for lane 1.
std::string lane_name(const std::string& name, size_t lane);

// Counts the work items on a device over time, in bounded memory. The changes are summed in bins, whose width doubles
// whenever the trace becomes longer than all bins.
class DepthCounter {
 public:
  explicit DepthCounter(uint64_t origin_ns) : origin_ns_(origin_ns), changes_(kBins) {}

  void add(uint64_t start_ns, uint64_t end_ns);

  struct Sample {
    uint64_t time_ns = 0;
    int64_t depth = 0;
  };
  // Returns the depth at the end of each bin in which it changed. At these times, the depth is exact.
  [[nodiscard]] std::vector<Sample> samples() const;

 private:
#ifdef GPUPROF_FUZZING
  static constexpr size_t kBins = size_t{1} << 6U;  // small, so that the short inputs of fuzzing can fill the bins
#else
  static constexpr size_t kBins = size_t{1} << 16U;
#endif
  void change(uint64_t time_ns, int64_t by);

  uint64_t origin_ns_;
  unsigned shift_ = 0;  // the width of a bin is 2^shift ns
  std::vector<int64_t> changes_;
};

// Identifies a track: `pid` and `tid` are those of Chrome's format. Perfetto's uuid is the `tid`.
struct Track {
  uint64_t pid = 0;
  uint64_t tid = 0;
};

// Assigns unique numbers to processes and devices. Pids are not unique: they repeat after an exec, and on other hosts.
class TrackNumbers {
 public:
  uint64_t process(profile::ProcessId id, uint32_t pid);
  uint64_t device(profile::DeviceId id);

 private:
  static constexpr uint64_t kFirstSubstitute = 500'000'000;  // no pid is as large
  static constexpr uint64_t kFirstDevice = 10'000'000;
  std::unordered_map<uint32_t, uint64_t> processes_;
  std::unordered_map<uint32_t, uint64_t> devices_;
  std::unordered_map<uint64_t, bool> used_;
  uint64_t substitutes_ = 0;
};

// Returns a text such as "python3, rank 3, host node1".
std::string process_name(const profile::Tables& tables, profile::ProcessId id);

// Returns thread names by (process, tid). They are complete only after all records have been read.
std::map<std::pair<uint32_t, uint32_t>, std::string_view> thread_names(const profile::Tables& tables);

// Remembers recent calls or work items to which an arrow may lead or from which it may start. New entries overwrite old
// ones in a hash table, which bounds the memory.
template <typename Value>
class RecentTable {
 public:
  RecentTable() : slots_(kSlots) {}

  void put(profile::ProcessId process, uint64_t correlation, const Value& value) {
    slots_[slot(process, correlation)] = {process, correlation, value};
  }
  [[nodiscard]] const Value* find(profile::ProcessId process, uint64_t correlation) const {
    const Slot& found = slots_[slot(process, correlation)];
    return found.correlation == correlation && found.process == process ? &found.value : nullptr;
  }
  void erase(profile::ProcessId process, uint64_t correlation) { slots_[slot(process, correlation)] = {}; }

 private:
#ifdef GPUPROF_FUZZING
  static constexpr size_t kSlots = size_t{1} << 6U;
#else
  static constexpr size_t kSlots = size_t{1} << 17U;
#endif
  struct Slot {
    profile::ProcessId process{};
    uint64_t correlation = 0;  // 0 if the entry is empty
    Value value{};
  };
  static size_t slot(profile::ProcessId process, uint64_t correlation) {
    return (correlation + uint64_t{index(process)} * kHashMultiplier) % kSlots;
  }
  std::vector<Slot> slots_;
};

}  // namespace gpuprof::output
