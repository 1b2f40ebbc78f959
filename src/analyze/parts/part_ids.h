// The ids of a part: definitions are written when the first row needs them, and count from 1 in each part.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyze/merge/merge.h"
#include "analyze/parts/whole.h"
#include "profile/id_index.h"
#include "profile/record_fields.h"

namespace gpuprof::analyze {

class PartIds {
 public:
  // Both must outlive it.
  PartIds(const Whole& whole, const RecordSink& sink) : whole_(whole), sink_(sink) {}

  // Puts the part's ids into a row. What of its ids is new to the part is written first.
  Status map(profile::Record& row);

  void add(profile::ProcessId id);
  void add(profile::DeviceId id);

  // Writes what was found out of the places that the part has, with the places that these wait for.
  Status explain_places();

  [[nodiscard]] const Status& status() const { return status_; }  // a failure of the sink stays
  // The whole's, of what was written.
  [[nodiscard]] const std::vector<profile::ProcessId>& processes() const { return processes_; }
  [[nodiscard]] const std::vector<profile::DeviceId>& devices() const { return devices_; }

 private:
  [[nodiscard]] const profile::Tables& tables() const { return whole_.tables(); }

  // Turns an id of the whole into that of the part, which gets the definition if it has none yet.
  template <typename Id>
  void map_id(profile::IdSpace space, Id& id);
  template <typename R>
  void map_ids(R& record);
  void put(const profile::Record& record);

  // The whole's definitions, with ids of the whole. Stacks and places get their frames from map_frames().
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

  const Whole& whole_;
  const RecordSink& sink_;
  std::array<profile::IdIndex, profile::kIdSpaces> ids_;
  std::array<uint32_t, profile::kIdSpaces> last_{};
  std::vector<profile::ProcessId> processes_;
  std::vector<profile::DeviceId> devices_;
  std::vector<profile::GpuPlaceId> places_;  // the whole's
  std::vector<profile::StackElement> elements_;
  std::vector<profile::FrameId> frames_;
  Status status_;
};

}  // namespace gpuprof::analyze
