// One walk over the rows of a profile, for those who hand it on to other tools: each row with its frames, root first,
// as `flame` shows them, but with what the profile knows of each: file, line, module, build id and address.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "analyze/paths/spread.h"
#include "analyze/paths/stack_view.h"
#include "analyze/paths/walk_frames.h"
#include "analyze/rows/aggregate.h"
#include "base/result.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

struct WalkWeight {
  uint64_t ns = 0;
  uint64_t launches = 0;  // GPU records; of a profile that counts launches only, these
  uint64_t queue_ns = 0;
  uint64_t bytes = 0;
  uint64_t samples = 0;  // of GPU code; a sample has no time of its own

  static constexpr uint64_t WalkWeight::*kNumbers[] = {&WalkWeight::ns, &WalkWeight::launches, &WalkWeight::queue_ns,
                                                       &WalkWeight::bytes, &WalkWeight::samples};

  // Whether sums are not larger than numbers of formats can be that have a sign.
  [[nodiscard]] bool fits_signed() const { return std::max({ns, launches, bytes, samples}) <= INT64_MAX; }
};

struct WalkRow {
  const profile::Work& work;
  // Root first: process; NVTX ranges; stack of the launch, of the capture; kernel; of samples the source lines and the
  // stall reason. For Walk::frame().
  std::span<const uint32_t> frames;
  profile::StackId ustack{};  // of the launch, or of another one that stands for it
  profile::StackId kstack{};
  size_t outer = 0;           // how many of them are the process and its NVTX ranges
  profile::StringId stall{};  // of samples
  WalkWeight weight;
};

class Walk {
 public:
  using Visit = std::function<Status(const WalkRow&)>;

  // The rows, aggregated with AggregateOptions::queue, must outlive the walk.
  Walk(const Aggregate& rows, const StackOptions& stacks);
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;
  ~Walk() = default;

  // All rows that measure something, with their parts where they are spread over other launches' stacks. The weights
  // add up to total(). May be run again; a failure of `visit` ends it.
  Status run(const Visit& visit);

  // Ids are small and stay; those of a row are known from its visit on.
  [[nodiscard]] const WalkFrame& frame(uint32_t id) const { return frames_.frame(id); }

  // What is shown of a stack.
  std::span<const uint32_t> stack(bool kernel, profile::StackId id) { return frames_.of(paths_.stack(kernel, id)); }
  [[nodiscard]] uint32_t frame_count() const { return frames_.count(); }

  [[nodiscard]] const Aggregate& rows() const { return rows_; }
  [[nodiscard]] const StackOptions& stack_options() const { return stack_options_; }
  [[nodiscard]] const WalkWeight& total() const { return total_; }
  [[nodiscard]] const StackView::Trimmed& trimmed() const { return folded_ ? *folded_ : paths_.view().trimmed(); }
  // Of who looks at the rows by fold() instead of run().
  void note_trimmed(const StackView::Trimmed& trimmed) { folded_ = trimmed; }

 private:
  Status visit_row(const Row& row, const Visit& visit);
  Status visit_sample(const SampleRow& row, const Visit& visit);
  // Calls `emit` once for each stack that the work is shown under, with that in path_.
  template <typename Emit>
  Status each_part(const profile::Work& work, const WalkWeight& weight, Emit emit);

  void put_path(const profile::Work& work, const LaunchSite& site);
  void put(WorkPaths::Part part);
  void put_place(const SampleRow& row, const profile::Work& work);
  uint32_t string_frame(profile::StringId id, FrameClass cls, const profile::GpuModule* module = nullptr);

  const Aggregate& rows_;
  const profile::Tables& tables_;
  StackOptions stack_options_;
  bool instructions_ = false;  // of samples, as in pictures of profiles that hold nothing else
  WalkFrames frames_;
  WorkPaths& paths_ = frames_.paths();
  std::optional<StackView::Trimmed> folded_;
  StackDonors donors_;
  WalkWeight total_;
  std::unordered_map<uint64_t, uint32_t> string_ids_;  // by class and STRING
  std::unordered_map<uint64_t, uint32_t> module_ids_;  // by GPU_MODULE
  std::vector<uint32_t> path_;                         // being put together
  size_t outer_ = 0;
  LaunchSite site_;  // that the path is of
};

}  // namespace gpuprof::analyze
