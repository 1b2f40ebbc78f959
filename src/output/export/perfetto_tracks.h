// Creates the tracks of a Perfetto trace, and assigns slices to them. Internal to perfetto.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "output/export/perfetto_packets.h"
#include "output/timeline_tracks.h"
#include "profile/tables.h"

namespace gpuprof::output::perfetto {

// A lane of nested slices. A Perfetto end event does not name its slice: it ends the innermost open slice. Perfetto
// reads events with equal times in file order. take() rejects a slice if Perfetto would then end a wrong slice: if a
// shorter slice has the same start, if another slice begins at the end of the new slice, or if the new slice partly
// overlaps one of the last slices.
class NestingLane {
 public:
  bool take(uint64_t start_ns, uint64_t end_ns);

 private:
  static constexpr size_t kRemembered = 4096;
  static constexpr size_t kLookBack = 64;
  // The pair (start, UINT64_MAX - end) sorts the longest of the slices with equal start first.
  using Slice = std::pair<uint64_t, uint64_t>;
  static uint64_t end_of(const Slice& slice) { return UINT64_MAX - slice.second; }
  std::set<Slice> slices_;
};

class Tracks {
 public:
  Tracks(const profile::Tables& tables, Packets& packets) : tables_(tables), packets_(packets) {}

  // Return the track for a slice; Track::tid is the Perfetto uuid. Write a TrackDescriptor packet when a track is used
  // for the first time. Return nullopt if the track and all its additional lanes are full.
  std::optional<Track> of_thread(profile::ProcessId process, uint32_t tid, uint64_t start_ns, uint64_t end_ns);
  std::optional<Track> of_ranges(profile::ProcessId process, uint32_t tid, uint64_t start_ns, uint64_t end_ns);
  std::optional<Track> of_device(profile::DeviceId device, const std::string& name, uint64_t start_ns, uint64_t end_ns);
  Track notes() { return {.tid = child(0, kNotesTrack)}; }  // the track for notes about the complete recording
  Track counter(profile::DeviceId device, const char* name);

  // Writes the TrackDescriptor packets of threads again, because the names are now known. Call it after the last
  // record.
  void name_threads();

 private:
  struct Thread {
    uint64_t uuid = 0;
    uint64_t process = 0;
    uint64_t pid = 0;
    std::vector<NestingLane> lanes;
  };

  uint64_t process(profile::ProcessId id);
  uint64_t device(profile::DeviceId id);
  uint64_t child(uint64_t parent, const std::string& name);
  std::optional<Track> lane(std::vector<NestingLane>& lanes, uint64_t first, uint64_t parent, const std::string& name,
                            uint64_t start_ns, uint64_t end_ns);
  uint64_t pid_of(profile::ProcessId id);
  template <typename Put>
  void describe(uint64_t uuid, Put put_fields);
  void describe_thread(const Thread& thread, uint32_t tid, std::string_view name);

  const profile::Tables& tables_;
  Packets& packets_;
  TrackNumbers numbers_;
  uint64_t count_ = 0;
  std::map<uint32_t, uint64_t> processes_;                   // maps ProcessId to the track's uuid
  std::map<uint32_t, uint64_t> devices_;                     // maps DeviceId to the track's uuid
  std::map<std::pair<uint32_t, uint32_t>, Thread> threads_;  // key: ProcessId and tid
  // Maps the parent's uuid and a name to the track's uuid.
  std::map<std::pair<uint64_t, std::string>, uint64_t> children_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<NestingLane>> range_lanes_;
  std::map<std::pair<uint32_t, std::string>, std::vector<Lane>> device_lanes_;
};

}  // namespace gpuprof::output::perfetto
