// One walk over the rows of a profile, for those who hand it on to other tools: each row with its frames, root first,
// as `flame` shows them, but with what the profile knows of each: file, line, module, build id and address.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/aggregate.h"
#include "analyze/spread.h"
#include "analyze/stack_view.h"
#include "base/result.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

struct WalkFrame {
  std::string_view label;     // as `flame` shows it; never empty
  std::string_view name;      // of the function, without file and line
  std::string_view file;      // of the source, as it was recorded; empty: not known
  std::string_view module;    // path of the mapped file, or name of the GPU module; empty: not known
  std::string_view build_id;  // of the module; empty: not known
  uint64_t address = 0;       // in the module
  uint32_t line = 0;          // 0: not known
  FrameClass cls = FrameClass::note;
};

struct WalkWeight {
  uint64_t ns = 0;
  uint64_t launches = 0;  // GPU records; of a profile that counts launches only, these
  uint64_t queue_ns = 0;
  uint64_t bytes = 0;
  uint64_t samples = 0;  // of GPU code; a sample has no time of its own

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

  // All rows that measure something, with their parts where they are spread over other launches' stacks. The weights
  // add up to total(). May be run again; a failure of `visit` ends it.
  Status run(const Visit& visit);

  // Ids are small and stay; those of a row are known from its visit on.
  [[nodiscard]] const WalkFrame& frame(uint32_t id) const { return frames_[id]; }

  // What is shown of a stack.
  const std::vector<uint32_t>& stack(bool kernel, profile::StackId id) { return stack_frames(kernel, id); }
  [[nodiscard]] uint32_t frame_count() const { return static_cast<uint32_t>(frames_.size()); }

  [[nodiscard]] const Aggregate& rows() const { return rows_; }
  [[nodiscard]] const StackOptions& stack_options() const { return stack_options_; }
  [[nodiscard]] const WalkWeight& total() const { return total_; }
  [[nodiscard]] const StackView::Trimmed& trimmed() const { return folded_ ? *folded_ : view_.trimmed(); }
  // Of who looks at the rows by fold() instead of run().
  void note_trimmed(const StackView::Trimmed& trimmed) { folded_ = trimmed; }

 private:
  struct Stacks {  // a launch's own, or those of another one
    profile::StackId ustack{};
    profile::StackId kstack{};
    std::string_view none;  // what stands where there is no stack
  };
  Status visit_row(const Row& row, const Visit& visit);
  Status visit_sample(const SampleRow& row, const Visit& visit);
  template <typename Emit>
  Status each_part(const profile::Work& work, const WalkWeight& weight, Emit emit);

  void put_path(const profile::Work& work, const Stacks& stacks);
  uint32_t process_frame(const profile::Work& work);
  void put_ranges(profile::RangeId id);
  void put_launch(const Stacks& stacks);
  void put_capture(const profile::Work& work);
  void put_stack(bool kernel, profile::StackId id);
  void put_place(const SampleRow& row, const profile::Work& work);

  const std::vector<uint32_t>& stack_frames(bool kernel, profile::StackId id);
  [[nodiscard]] bool is_hidden(bool kernel, profile::StackId id);
  enum class Whose : uint8_t { ustack, kstack, place };
  uint32_t element_frame(Whose whose, profile::Element element, uint32_t shown);
  uint32_t work_frame(const profile::Work& work, FrameClass cls);
  uint32_t string_frame(profile::StringId id, FrameClass cls, const profile::GpuModule* module = nullptr);
  uint32_t text_frame(std::string_view text, FrameClass cls);

  const Aggregate& rows_;
  const profile::Tables& tables_;
  StackOptions stack_options_;
  bool instructions_ = false;  // of samples, as in pictures of profiles that hold nothing else
  StackView view_;
  std::optional<StackView::Trimmed> folded_;
  StackDonors donors_;
  WalkWeight total_;
  size_t parts_ = 0;
  size_t range_frames_ = 0;
  size_t range_bytes_ = 0;  // of names that were put together for them
  std::deque<WalkFrame> frames_;
  std::unordered_map<std::string, uint32_t> text_ids_;             // by class and text
  std::unordered_map<uint64_t, uint32_t> string_ids_;              // by class and STRING
  std::unordered_map<uint64_t, uint32_t> module_ids_;              // by GPU_MODULE
  std::unordered_map<uint64_t, uint32_t> work_ids_;                // by class, operation and name
  std::unordered_map<uint64_t, uint32_t> element_ids_;             // of stacks and places
  std::unordered_map<uint32_t, std::vector<uint32_t>> stacks_[2];  // by kernel or not
  std::unordered_map<uint32_t, uint32_t> processes_;               // by id: their frames
  std::unordered_map<uint32_t, std::vector<uint32_t>> ranges_;
  std::vector<uint32_t> path_;  // being put together
  size_t outer_ = 0;
  Stacks stacks_of_path_;
};

}  // namespace gpuprof::analyze
