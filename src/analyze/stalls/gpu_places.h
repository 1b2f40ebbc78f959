// Converts GPU code locations to labels of a flame tree. Internal to fold.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyze/paths/flame_tree.h"
#include "analyze/paths/stack_view.h"
#include "analyze/stalls/leaf.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

class GpuPlaces {
 public:
  GpuPlaces(const profile::Tables& tables, StackView& view, FlameTree& tree, const Leaves& leaves);

  // The frames that a sample's code location adds. The frame of Leaf::stall goes between `above` and `below`.
  struct Shown {
    FlameTree::Run above;
    FlameTree::Run below;
    // STRING of the kernel. 0: the frames are the same for all kernels. kNotYet: the frames are not known yet.
    uint32_t kernel = kNotYet;
  };

  // Converts each code location only once (without source lines: once per kernel), because many samples share it.
  const Shown& shown(profile::GpuPlaceId id, profile::StringId kernel);

  [[nodiscard]] bool shows_stall() const { return shows_stall_; }
  LabelId text_label(profile::StringId id, FrameClass cls);

 private:
  struct Offset {
    uint64_t value = 0;
    LabelId label = kNoLabel;
  };
  static constexpr LabelId kNoLabel{UINT32_MAX};
  static constexpr uint32_t kNotYet = UINT32_MAX;

  Shown show(profile::GpuPlaceId id, profile::StringId kernel, uint32_t apart);
  void put(Leaf leaf, const profile::GpuPlace& place, profile::StringId kernel);
  void put_functions(const profile::GpuPlace& place, profile::StringId kernel, bool lines);
  void put_instruction(const profile::GpuPlace& place);
  void put_line_alone(const profile::GpuPlace& place);
  LabelId offset_label(uint64_t offset);

  const profile::Tables& tables_;
  StackView& view_;
  FlameTree& tree_;
  Leaves leaves_;
  bool shows_stall_ = false;
  bool shows_instruction_ = false;
  std::vector<LabelId> path_;
  // Indexed by code location: the frames for the first kernel that has the location.
  std::vector<Shown> first_;
  std::unordered_map<uint64_t, Shown> others_;  // key: code location and kernel; the frames for all further kernels
  std::array<Offset, 1024> offsets_ = {};       // cache of offset labels, indexed by some bits of the offset
  // Indexed by FrameClass; key: STRING id.
  std::array<std::unordered_map<uint32_t, LabelId>, kFrameClasses> text_labels_;
};

}  // namespace gpuprof::analyze
