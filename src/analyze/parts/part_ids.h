// The ids of a part: definitions are written when the first row needs them, and count from 1 in each part.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyze/merge.h"
#include "analyze/parts/whole.h"
#include "profile/id_index.h"

namespace gpuprof::analyze {

class PartIds : profile::DefinitionKinds {
 public:
  // Both must outlive it.
  PartIds(const Whole& whole, const RecordSink& sink) : whole_(whole), sink_(sink) {}

  // Puts the part's ids into a row. What of its ids is new to the part is written first.
  Status map(profile::Record& row);

  profile::ProcessId process(profile::ProcessId id);
  profile::DeviceId device(profile::DeviceId id);

  // Writes what was found out of the places that the part has, with the places that these wait for.
  Status explain_places();

  [[nodiscard]] const Status& status() const { return status_; }  // a failure of the sink stays
  // The whole's, of what was written.
  [[nodiscard]] const std::vector<profile::ProcessId>& processes() const { return processes_; }
  [[nodiscard]] const std::vector<profile::DeviceId>& devices() const { return devices_; }

 private:
  // The part's id for the whole's. `make` fills in the definition where there is none yet.
  template <typename Id, typename Make>
  Id known_or(Kind kind, Id id, const Make& make);
  void put(const profile::Record& record);

  profile::StringId string(profile::StringId id);
  profile::FrameId frame(const profile::Frame& frame);
  profile::StackId stack(bool kernel, profile::StackId id);
  profile::RangeId range(profile::RangeId id);
  profile::WorkId work(profile::WorkId id);
  profile::GpuModuleId gpu_module(profile::GpuModuleId id);
  profile::GpuPlaceId gpu_place(profile::GpuPlaceId id);
  profile::SamplingId sampling(profile::SamplingId id);

  const Whole& whole_;
  const RecordSink& sink_;
  std::array<profile::IdIndex, kKinds> ids_;
  std::array<uint32_t, kKinds> last_{};
  std::vector<profile::ProcessId> processes_;
  std::vector<profile::DeviceId> devices_;
  std::vector<profile::GpuPlaceId> places_;  // the whole's
  Status status_;
};

}  // namespace gpuprof::analyze
