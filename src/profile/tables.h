// Stores the definitions of a profile by id. Rejects definitions that contradict each other, and records that refer
// to undefined ids.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/id_index.h"
#include "profile/record_fields.h"
#include "profile/records.h"

namespace gpuprof::profile {

// The kind of record that measures a WORK.
enum class WorkKind : uint8_t { gpu, launch, host };

constexpr WorkKind work_kind(Op op) {
  if (op == Op::launch) {
    return WorkKind::launch;
  }
  return op < Op::launch ? WorkKind::gpu : WorkKind::host;
}
static_assert(Op::graph < Op::launch && Op::sync > Op::launch);

// An element of a stack: a frame, or a label (an address or a text). It has four bytes, because a profile may hold
// many millions.
struct Element {
  Element(uint32_t at, bool label) : position(at & (UINT32_MAX >> 1U)), is_label(label) {}
  uint32_t position : 31;
  bool is_label : 1;
};
static_assert(sizeof(Element) == 4);

class Tables {
 public:
  // Stores a definition. Checks the ids of any other record. Returns the reason if the record is rejected, else
  // nullopt.
  std::optional<std::string> add(const Record& record);
  std::optional<std::string> add(const EuStall& record);  // faster than add(const Record&)

  // These functions return null for 0 and for undefined ids.
  [[nodiscard]] const Process* process(ProcessId id) const { return row_of<Process>(id); }
  [[nodiscard]] const Device* device(DeviceId id) const { return row_of<Device>(id); }
  [[nodiscard]] const Frame* frame(FrameId id) const { return row_of<Frame>(id); }
  [[nodiscard]] const Range* range(RangeId id) const { return row_of<Range>(id); }
  [[nodiscard]] const Work* work(WorkId id) const { return row_of<Work>(id); }
  [[nodiscard]] const GpuModule* gpu_module(GpuModuleId id) const { return row_of<GpuModule>(id); }
  [[nodiscard]] const GpuPlace* gpu_place(GpuPlaceId id) const { return row_of<GpuPlace>(id); }
  [[nodiscard]] const Sampling* sampling(SamplingId id) const { return row_of<Sampling>(id); }

  // Return the position in works() or in gpu_places(), or IdIndex::kNone.
  [[nodiscard]] uint32_t position(WorkId id) const { return ids_[kWorkIds].find(index(id)); }
  [[nodiscard]] uint32_t position(GpuPlaceId id) const { return ids_[kGpuPlaceIds].find(index(id)); }

  [[gnu::always_inline]] void prefetch(WorkId id) const { ids_[kWorkIds].prefetch(index(id)); }
  [[gnu::always_inline]] void prefetch(GpuPlaceId id) const { ids_[kGpuPlaceIds].prefetch(index(id)); }

  // Return all definitions, in the order of the file.
  [[nodiscard]] std::span<const Process> processes() const { return rows<Process>(); }
  [[nodiscard]] std::span<const Device> devices() const { return rows<Device>(); }
  [[nodiscard]] std::span<const Work> works() const { return rows<Work>(); }
  [[nodiscard]] std::span<const GpuPlace> gpu_places() const { return rows<GpuPlace>(); }

  [[nodiscard]] std::string_view text(StringId id) const;  // empty for 0 and for undefined ids
  [[nodiscard]] std::span<const Element> stack(bool kernel, StackId id) const;
  // Returns the source lines of a GPU_PLACE, outermost function first. The result of gpu_place() does not contain
  // them.
  [[nodiscard]] std::span<const Element> place_frames(GpuPlaceId id) const;
  // Returns the instruction's text, and what it waits for. If nothing is known, all fields are 0.
  [[nodiscard]] GpuInstruction instruction(GpuPlaceId id) const;
  [[nodiscard]] bool has_instructions() const { return !gpu_instructions_.empty(); }
  // Sums of GPU_COUNT over all processes and devices, by GPU_PLACE and name of the counter.
  using GpuCounts = std::map<std::pair<GpuPlaceId, StringId>, uint64_t>;
  [[nodiscard]] const GpuCounts& gpu_counts() const { return gpu_counts_; }
  [[nodiscard]] const Frame& frame(Element element) const { return rows<Frame>()[element.position]; }
  [[nodiscard]] std::string_view label(Element element) const { return labels_[element.position]; }

 private:
  struct FrameRun {  // a range of elements_
    size_t begin = 0;
    size_t size = 0;
  };
  using Reason = std::optional<std::string>;

  template <typename R>
  [[nodiscard]] const std::vector<R>& rows() const {
    return std::get<std::vector<R>>(rows_);
  }
  template <typename R>
  [[nodiscard]] const R* row_of(decltype(R::id) id) const {
    const uint32_t position = ids_[kSpaceOf<decltype(R::id)>].find(index(id));
    return position == IdIndex::kNone ? nullptr : &rows<R>()[position];
  }
  [[nodiscard]] std::span<const Element> run(const FrameRun& run) const {
    return std::span(elements_).subspan(run.begin, run.size);
  }

  Reason define(const String& r);
  Reason define(const Stack& r);
  Reason define(const Range& r);
  Reason define(const GpuPlace& r);
  Reason define(const GpuInstruction& r);
  Reason define(const GpuCount& r);
  Reason define(const Event& r);
  Reason define(const Idle& r);
  template <typename Other>
  Reason define(const Other& r);

  template <typename R>
  Reason define_row(const R& r);
  template <typename R>
  [[nodiscard]] Reason check_ids(const R& r) const;
  template <typename Id>
  [[nodiscard]] Reason check_needed(Id id) const;
  template <typename Row>
  [[nodiscard]] Reason check_work(const Row& r) const;
  bool add_frame(FrameId id);  // appends the frame to scratch_; returns false if `id` is undefined
  std::optional<uint32_t> intern_label(std::string_view label);  // nullopt: there are too many labels

  std::array<IdIndex, kIdSpaces> ids_;  // from an id to a position in rows_, stack_rows_ and the like
  std::tuple<std::vector<Frame>, std::vector<Process>, std::vector<Device>, std::vector<Range>, std::vector<Work>,
             std::vector<GpuModule>, std::vector<GpuPlace>, std::vector<Sampling>>
      rows_;
  std::deque<std::string> texts_;
  std::deque<std::string> labels_;
  std::unordered_map<std::string_view, uint32_t> label_ids_;
  std::vector<FrameRun> stack_rows_;
  std::vector<Element> elements_;  // the elements of all stacks and GPU_PLACEs
  std::vector<Element> scratch_;
  std::vector<uint32_t> range_depths_;
  std::vector<FrameRun> gpu_place_frames_;                         // the index is the position of the GPU_PLACE
  std::unordered_map<uint32_t, GpuInstruction> gpu_instructions_;  // key: id of the GPU_PLACE
  GpuCounts gpu_counts_;
};

}  // namespace gpuprof::profile
