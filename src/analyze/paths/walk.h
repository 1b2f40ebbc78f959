// Iterates over the rows of a profile for export to other tools. Each row has its frames, outermost first, as `flame`
// shows them, plus all known details: file, line, module, build id and address.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "analyze/paths/extrapolation.h"
#include "analyze/paths/stack_view.h"
#include "analyze/paths/walk_frames.h"
#include "analyze/rows/aggregate.h"
#include "base/result.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

struct WalkWeight {
  uint64_t ns = 0;
  uint64_t launches = 0;  // number of GPU records; number of launches if only launches were recorded
  uint64_t queue_ns = 0;
  uint64_t bytes = 0;
  uint64_t samples = 0;  // samples of GPU code, which have no duration

  static constexpr uint64_t WalkWeight::*kNumbers[] = {&WalkWeight::ns, &WalkWeight::launches, &WalkWeight::queue_ns,
                                                       &WalkWeight::bytes, &WalkWeight::samples};

  // True if the sums fit the signed 64-bit numbers of other formats.
  [[nodiscard]] bool fits_signed() const { return std::max({ns, launches, bytes, samples}) <= INT64_MAX; }
};

struct WalkRow {
  const profile::Work& work;
  // Ids for Walk::frame(), outermost first: process, ranges, launch, capture, kernel; for samples also lines and stall.
  std::span<const uint32_t> frames;
  profile::StackId ustack{};  // stack of the launch, or of a similar launch if extrapolated
  profile::StackId kstack{};
  size_t outer = 0;           // the first `outer` frames are the process and NVTX ranges
  profile::StringId stall{};  // stall reason of a sample; not set for other rows
  WalkWeight weight;
};

class Walk {
 public:
  using Visit = std::function<Status(const WalkRow&)>;

  // `rows` must outlive the walk, and be aggregated with AggregateOptions::queue.
  Walk(const Aggregate& rows, const StackOptions& stacks);
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;
  ~Walk() = default;

  // Calls `visit` for each row that is not 0, and for an extrapolated row once per stack. The visited weights add up to
  // total(). Stops if `visit` fails.
  Status run(const Visit& visit);

  // Returns the frame for an id from a visited row. Ids are small and stable.
  [[nodiscard]] const WalkFrame& frame(uint32_t id) const { return frames_.frame(id); }

  std::span<const uint32_t> stack(bool kernel, profile::StackId id) { return frames_.of(paths_.stack(kernel, id)); }
  [[nodiscard]] uint32_t frame_count() const { return frames_.count(); }

  [[nodiscard]] const Aggregate& rows() const { return rows_; }
  [[nodiscard]] const StackOptions& stack_options() const { return stack_options_; }
  [[nodiscard]] const WalkWeight& total() const { return total_; }
  [[nodiscard]] const StackView::Trimmed& trimmed() const { return folded_ ? *folded_ : paths_.view().trimmed(); }
  // Sets the result of trimmed(). Call it if fold() was used instead of run().
  void note_trimmed(const StackView::Trimmed& trimmed) { folded_ = trimmed; }

 private:
  Status visit_row(const Row& row, const Visit& visit);
  Status visit_sample(const SampleRow& row, const Visit& visit);
  // Calls `emit` for each stack under which the work is shown. During the call, path_ holds that stack.
  template <typename Emit>
  Status each_part(const profile::Work& work, const WalkWeight& weight, Emit emit);

  void put_path(const profile::Work& work, const LaunchSite& site);
  void put(WorkPaths::PathSegment part);
  void put_place(const SampleRow& row, const profile::Work& work);
  uint32_t string_frame(profile::StringId id, FrameClass cls, const profile::GpuModule* module = nullptr);

  const Aggregate& rows_;
  const profile::Tables& tables_;
  StackOptions stack_options_;
  // True if the profile has nothing but samples; only then instructions are shown, as in flame graphs.
  bool instructions_ = false;
  WalkFrames frames_;
  WorkPaths& paths_ = frames_.paths();
  std::optional<StackView::Trimmed> folded_;
  StackExtrapolation extrapolation_;
  WalkWeight total_;
  std::unordered_map<uint64_t, uint32_t> string_ids_;  // key: class and STRING id
  std::unordered_map<uint64_t, uint32_t> module_ids_;
  std::vector<uint32_t> path_;
  size_t outer_ = 0;
  LaunchSite site_;
};

}  // namespace gpuprof::analyze
