// What the ids of a profile stand for. Takes every definition, refuses what contradicts an earlier one or refers to
// something that is not defined, and answers look-ups.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/records.h"

namespace gpuprof::profile {

// id -> position, for ids that a file chose: small ones in an array, wild ones in a hash table, so that a file can not
// make us allocate more than it has lines.
class IdIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  [[nodiscard]] uint32_t find(uint32_t id) const {
    if (id < dense_.size() && dense_[id] != kNone) {
      return dense_[id];
    }
    return sparse_.empty() ? kNone : find_sparse(id);
  }
  void insert(uint32_t id, uint32_t position);

 private:
  [[nodiscard]] uint32_t find_sparse(uint32_t id) const;

  std::vector<uint32_t> dense_;
  std::unordered_map<uint32_t, uint32_t> sparse_;
  size_t count_ = 0;
};

inline constexpr uint32_t kMaxRangeDepth = 1024;

// Which kind of line a WORK may be measured by.
enum class WorkKind : uint8_t { gpu, launch, host };

constexpr WorkKind work_kind(Op op) {
  if (op == Op::launch) {
    return WorkKind::launch;
  }
  return op < Op::launch ? WorkKind::gpu : WorkKind::host;
}

// An element of a stack: a frame, or a label ("0x7f12", or the text of the published form).
// Four bytes: a profile may hold many millions.
struct Element {
  Element(uint32_t at, bool label) : position(at & (UINT32_MAX >> 1U)), is_label(label) {}
  uint32_t position : 31;
  bool is_label : 1;
};
static_assert(sizeof(Element) == 4);

// Texts that stand in stacks as they are: each is far longer in memory than in the file.
inline constexpr size_t kMostLabels = 2'000'000;

class Tables {
 public:
  // Takes a definition, checks the ids of any other record. The reason why it can not be accepted, or nothing.
  std::optional<std::string> add(const Record& record);

  [[nodiscard]] bool has(StringId id) const { return index(id) == 0 || strings_.find(index(id)) != IdIndex::kNone; }
  [[nodiscard]] bool has(DeviceId id) const { return index(id) == 0 || devices_.find(index(id)) != IdIndex::kNone; }

  // Null for 0 and for what is not defined.
  [[nodiscard]] const Process* process(ProcessId id) const { return row_of(processes_, process_rows_, id); }
  [[nodiscard]] const Device* device(DeviceId id) const { return row_of(devices_, device_rows_, id); }
  [[nodiscard]] const Frame* frame(FrameId id) const { return row_of(frames_, frame_rows_, id); }
  [[nodiscard]] const Range* range(RangeId id) const { return row_of(ranges_, range_rows_, id); }
  [[nodiscard]] const Work* work(WorkId id) const { return row_of(works_, work_rows_, id); }
  [[nodiscard]] uint32_t position(WorkId id) const { return works_.find(index(id)); }  // in works(), or IdIndex::kNone

  // All of them, in the order of their definitions.
  [[nodiscard]] std::span<const Process> processes() const { return process_rows_; }
  [[nodiscard]] std::span<const Device> devices() const { return device_rows_; }
  [[nodiscard]] std::span<const Work> works() const { return work_rows_; }

  [[nodiscard]] std::string_view text(StringId id) const;  // empty for 0 and for what is not defined
  [[nodiscard]] std::string_view gpu_file(uint32_t id) const { return text_of(gpu_files_, id); }
  [[nodiscard]] std::string_view gpu_symbol(uint32_t id) const { return text_of(gpu_symbols_, id); }
  [[nodiscard]] std::string_view insn_text(uint32_t id) const { return text_of(insn_texts_, id); }
  [[nodiscard]] std::span<const Element> stack(bool kernel, StackId id) const;
  [[nodiscard]] const Frame& frame(Element element) const { return frame_rows_[element.position]; }
  [[nodiscard]] std::string_view label(Element element) const { return labels_[element.position]; }

 private:
  struct StackRow {
    size_t begin = 0;
    size_t size = 0;
  };
  template <typename Row, typename Id>
  static const Row* row_of(const IdIndex& ids, const std::vector<Row>& rows, Id id) {
    const uint32_t position = ids.find(index(id));
    return position == IdIndex::kNone ? nullptr : &rows[position];
  }
  using Texts = IdIndex;
  using Reason = std::optional<std::string>;

  Reason define(const String& r) { return define_text("STRING", strings_, index(r.id), r.value); }
  Reason define(const GpuFile& r) { return define_text("GPU_FILE", gpu_files_, r.id, r.name); }
  Reason define(const GpuSymbol& r) { return define_text("GPU_SYMBOL", gpu_symbols_, r.id, r.name); }
  Reason define(const InsnText& r) { return define_text("INSN_TEXT", insn_texts_, r.id, r.text); }
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
  [[nodiscard]] Reason define(const EuStall& r) const;
  [[nodiscard]] Reason define(const ProcName& r) const;
  [[nodiscard]] Reason define(const Loss& r) const;
  template <typename Other>
  static Reason define(const Other& /*meta, window, end, unknown*/) {
    return std::nullopt;
  }

  Reason define_text(const char* kind, Texts& ids, uint32_t id, std::string_view value);
  [[nodiscard]] std::string_view text_of(const Texts& ids, uint32_t id) const;
  [[nodiscard]] Reason check_strings(std::initializer_list<StringId> ids) const;
  [[nodiscard]] Reason check_place(ProcessId process, StackId ustack, StackId kstack) const;
  [[nodiscard]] Reason check_range(RangeId range) const;
  [[nodiscard]] Reason check_work(WorkId work, const char* record, WorkKind wanted) const;
  std::optional<uint32_t> intern_label(std::string_view label);  // nothing: there are too many

  std::deque<std::string> texts_;  // of all four kinds of text
  Texts strings_;
  Texts gpu_files_;
  Texts gpu_symbols_;
  Texts insn_texts_;
  IdIndex frames_;
  std::vector<Frame> frame_rows_;
  std::deque<std::string> labels_;
  std::unordered_map<std::string_view, uint32_t> label_ids_;
  std::array<IdIndex, 2> stacks_;  // by Stack::kernel
  std::vector<StackRow> stack_rows_;
  std::vector<Element> elements_;
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
};

}  // namespace gpuprof::profile
