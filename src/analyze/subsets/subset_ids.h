// Assigns the ids of a subset, from 1. Writes each definition before the first row that needs it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyze/merge/merge.h"
#include "analyze/subsets/complete_profile.h"
#include "profile/id_index.h"
#include "profile/record_fields.h"

namespace gpuprof::analyze {

class SubsetIds {
 public:
  // `whole` and `sink` must outlive the object.
  SubsetIds(const CompleteProfile& whole, const RecordSink& sink) : whole_(whole), sink_(sink) {}

  // Replaces the ids in a row with the subset's ids. Writes new definitions to the sink first.
  Status map(profile::Record& row);

  void add(profile::ProcessId id);
  void add(profile::DeviceId id);

  // Writes the GPU_INSTRUCTION records of the subset's code locations. If one of these instructions waits for the
  // result of another, adds the code location of that other instruction.
  Status explain_places();

  [[nodiscard]] const Status& status() const { return status_; }
  // Return which definitions have been written, as ids of the complete profile.
  [[nodiscard]] const std::vector<profile::ProcessId>& processes() const { return processes_; }
  [[nodiscard]] const std::vector<profile::DeviceId>& devices() const { return devices_; }

 private:
  [[nodiscard]] const profile::Tables& tables() const { return whole_.tables(); }

  // Replaces an id of the complete profile with the subset's id. Writes the definition first if the subset lacks it.
  template <typename Id>
  void map_id(profile::IdSpace space, Id& id);
  template <typename R>
  void map_ids(R& record);
  void put(const profile::Record& record);

  // Return a definition with the complete profile's ids. map_frames() adds the frames of stacks and code locations.
  [[nodiscard]] auto definition(profile::StringId id) const { return profile::String{id, tables().text(id)}; }
  [[nodiscard]] auto definition(profile::StackId id) const { return profile::Stack{.id = id}; }
  [[nodiscard]] auto definition(profile::FrameId id) const { return *tables().frame(id); }
  [[nodiscard]] auto definition(profile::RangeId id) const { return *tables().range(id); }
  [[nodiscard]] auto definition(profile::WorkId id) const { return *tables().work(id); }
  [[nodiscard]] auto definition(profile::GpuModuleId id) const { return *tables().gpu_module(id); }
  [[nodiscard]] auto definition(profile::SamplingId id) const { return *tables().sampling(id); }
  [[nodiscard]] profile::Process definition(profile::ProcessId id);
  [[nodiscard]] profile::Device definition(profile::DeviceId id);
  [[nodiscard]] profile::GpuPlace definition(profile::GpuPlaceId id);

  template <typename R>
  void map_frames(R& /*record*/) {}
  void map_frames(profile::Stack& stack);
  void map_frames(profile::GpuPlace& place);

  const CompleteProfile& whole_;
  const RecordSink& sink_;
  std::array<profile::IdIndex, profile::kIdSpaces> ids_;
  std::array<uint32_t, profile::kIdSpaces> last_{};
  std::vector<profile::ProcessId> processes_;
  std::vector<profile::DeviceId> devices_;
  std::vector<profile::GpuPlaceId> places_;  // code locations written so far, as ids of the complete profile
  std::vector<profile::StackElement> elements_;
  std::vector<profile::FrameId> frames_;
  Status status_;
};

}  // namespace gpuprof::analyze
