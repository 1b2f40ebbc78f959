// What the ids of a profile stand for. Takes every definition, refuses what contradicts an earlier one or refers to
// something that is not defined, and answers look-ups.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/id_index.h"
#include "profile/records.h"

namespace gpuprof::profile {

// Which kind of line a WORK may be measured by.
enum class WorkKind : uint8_t { gpu, launch, host };

constexpr WorkKind work_kind(Op op) {
  if (op == Op::launch) {
    return WorkKind::launch;
  }
  return op < Op::launch ? WorkKind::gpu : WorkKind::host;
}
static_assert(Op::graph < Op::launch && Op::sync > Op::launch);

// An element of a stack: a frame, or a label (an address as "0x7f12", or a text).
// Four bytes: a profile may hold many millions.
struct Element {
  Element(uint32_t at, bool label) : position(at & (UINT32_MAX >> 1U)), is_label(label) {}
  uint32_t position : 31;
  bool is_label : 1;
};
static_assert(sizeof(Element) == 4);

class Tables {
 public:
  // Takes a definition, checks the ids of any other record. The reason why it can not be accepted, or nothing.
  std::optional<std::string> add(const Record& record);
  std::optional<std::string> add(const EuStall& record) { return define(record); }  // without the detour of a Record

  // Null for 0 and for what is not defined.
  [[nodiscard]] const Process* process(ProcessId id) const { return row_of(processes_, process_rows_, id); }
  [[nodiscard]] const Device* device(DeviceId id) const { return row_of(devices_, device_rows_, id); }
  [[nodiscard]] const Frame* frame(FrameId id) const { return row_of(frames_, frame_rows_, id); }
  [[nodiscard]] const Range* range(RangeId id) const { return row_of(ranges_, range_rows_, id); }
  [[nodiscard]] const Work* work(WorkId id) const { return row_of(works_, work_rows_, id); }
  [[nodiscard]] const GpuModule* gpu_module(GpuModuleId id) const { return row_of(gpu_modules_, gpu_module_rows_, id); }
  [[nodiscard]] const GpuPlace* gpu_place(GpuPlaceId id) const { return row_of(gpu_places_, gpu_place_rows_, id); }
  [[nodiscard]] uint32_t position(WorkId id) const { return works_.find(index(id)); }  // in works(), or IdIndex::kNone

  [[nodiscard]] uint32_t position(GpuPlaceId id) const {
    return gpu_places_.find(index(id));
  }  // in gpu_places(), alike

  [[gnu::always_inline]] void prefetch(WorkId id) const { works_.prefetch(index(id)); }  // for position()
  [[gnu::always_inline]] void prefetch(GpuPlaceId id) const { gpu_places_.prefetch(index(id)); }

  // All of them, in the order of their definitions.
  [[nodiscard]] std::span<const Process> processes() const { return process_rows_; }
  [[nodiscard]] std::span<const Device> devices() const { return device_rows_; }
  [[nodiscard]] std::span<const Work> works() const { return work_rows_; }
  [[nodiscard]] std::span<const GpuPlace> gpu_places() const { return gpu_place_rows_; }

  [[nodiscard]] std::string_view text(StringId id) const;  // empty for 0 and for what is not defined
  [[nodiscard]] std::span<const Element> stack(bool kernel, StackId id) const;
  // The source lines of a place, outermost function first. Those of gpu_place() are none.
  [[nodiscard]] std::span<const Element> place_frames(GpuPlaceId id) const;
  // The text of its instruction, and what it waits for; all 0 where nothing is known.
  [[nodiscard]] GpuInstruction instruction(GpuPlaceId id) const;
  [[nodiscard]] bool has_instructions() const { return !gpu_instructions_.empty(); }
  // What was counted at places, of all processes and devices: by the ids of the place and of what was counted.
  using GpuCounts = std::map<std::pair<GpuPlaceId, StringId>, uint64_t>;
  [[nodiscard]] const GpuCounts& gpu_counts() const { return gpu_counts_; }
  [[nodiscard]] const Frame& frame(Element element) const { return frame_rows_[element.position]; }
  [[nodiscard]] std::string_view label(Element element) const { return labels_[element.position]; }

 private:
  struct FrameRun {  // in elements_
    size_t begin = 0;
    size_t size = 0;
  };
  template <typename Row, typename Id>
  static const Row* row_of(const IdIndex& ids, const std::vector<Row>& rows, Id id) {
    const uint32_t position = ids.find(index(id));
    return position == IdIndex::kNone ? nullptr : &rows[position];
  }
  using Reason = std::optional<std::string>;
  template <typename Id>
  static bool none_or_known(const IdIndex& ids, Id id) {
    return index(id) == 0 || ids.has(index(id));
  }

  Reason define(const String& r);
  Reason define(const Frame& r);
  Reason define(const Stack& r);
  Reason define(const Process& r);
  Reason define(const Device& r);
  Reason define(const Range& r);
  Reason define(const Work& r);
  [[nodiscard]] Reason define(const Gpu& r) const { return check_work(r.work, "GPU", WorkKind::gpu); }
  [[nodiscard]] Reason define(const Share& r) const { return check_work(r.work, "SHARE", WorkKind::gpu); }
  [[nodiscard]] Reason define(const Latency& r) const { return check_work(r.work, "LATENCY", WorkKind::gpu); }
  [[nodiscard]] Reason define(const Launch& r) const { return check_work(r.work, "LAUNCH", WorkKind::launch); }
  [[nodiscard]] Reason define(const Host& r) const { return check_work(r.work, "HOST", WorkKind::host); }
  [[nodiscard]] Reason define(const Idle& r) const;
  [[nodiscard]] Reason define(const Event& r) const;
  [[nodiscard]] Reason define(const Call& r) const;
  [[nodiscard]] Reason define(const Span& r) const;
  [[nodiscard]] Reason define(const Coverage& r) const;
  Reason define(const GpuModule& r);
  Reason define(const GpuPlace& r);
  Reason define(const GpuInstruction& r);
  Reason define(const GpuCount& r);
  Reason define(const Sampling& r);
  [[nodiscard]] Reason define(const EuStall& r) const;
  [[nodiscard]] Reason define(const Loss& r) const;
  template <typename Other>
  static Reason define(const Other& /*meta, window, end, unknown*/) {
    return std::nullopt;
  }

  [[nodiscard]] Reason check_strings(std::initializer_list<StringId> ids) const;
  [[nodiscard]] Reason check_place(ProcessId process, StackId ustack, StackId kstack) const;
  [[nodiscard]] std::span<const Element> run(const FrameRun& run) const {
    return std::span(elements_).subspan(run.begin, run.size);
  }
  [[nodiscard]] Reason check_range(RangeId range) const;
  [[nodiscard]] Reason check_work(WorkId work, const char* record, WorkKind wanted) const;
  std::optional<uint32_t> intern_label(std::string_view label);  // nothing: there are too many

  IdIndex strings_;
  std::deque<std::string> texts_;
  IdIndex frames_;
  std::vector<Frame> frame_rows_;
  std::deque<std::string> labels_;
  std::unordered_map<std::string_view, uint32_t> label_ids_;
  std::array<IdIndex, 2> stacks_;  // by Stack::kernel
  std::vector<FrameRun> stack_rows_;
  std::vector<Element> elements_;  // of stacks and places
  std::vector<Element> scratch_;
  IdIndex processes_;
  std::vector<Process> process_rows_;
  IdIndex devices_;
  std::vector<Device> device_rows_;
  IdIndex ranges_;
  std::vector<Range> range_rows_;
  std::vector<uint32_t> range_depths_;
  IdIndex works_;
  std::vector<Work> work_rows_;
  IdIndex gpu_modules_;
  std::vector<GpuModule> gpu_module_rows_;
  IdIndex gpu_places_;
  std::vector<GpuPlace> gpu_place_rows_;
  std::vector<FrameRun> gpu_place_frames_;                         // by the position of a place
  std::unordered_map<uint32_t, GpuInstruction> gpu_instructions_;  // by the id of a place
  GpuCounts gpu_counts_;
  IdIndex samplings_;
  std::vector<Sampling> sampling_rows_;
};

}  // namespace gpuprof::profile
