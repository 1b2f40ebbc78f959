#include "profile/tables.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "profile/words.h"

namespace gpuprof::profile {
namespace {

using Reason = std::optional<std::string>;

constexpr uint32_t kMaxRangeDepth = 1024;
// Texts that stand in stacks as they are: each is far longer in memory than in the file.
constexpr size_t kMostLabels = 2'000'000;

Reason undefined(const char* kind, uint32_t id) {
  return std::string(kind) + " " + std::to_string(id) + " is not defined";
}

Reason redefined(const char* kind, uint32_t id) {
  return std::string(kind) + " " + std::to_string(id) + " is already defined, with another value";
}

// Everything that a reader of the profile can see; two equal definitions do no harm.
bool same(const Frame& a, const Frame& b) {
  return a.kind == b.kind && a.name == b.name && a.file == b.file && a.line == b.line && a.module == b.module &&
         a.build_id == b.build_id && a.address == b.address;
}
bool same(const Process& a, const Process& b) {
  return a.pid == b.pid && a.ppid == b.ppid && a.start_ns == b.start_ns && a.name == b.name && a.command == b.command &&
         a.rank == b.rank && a.host == b.host;
}
bool same(const Device& a, const Device& b) {
  return a.backend == b.backend && a.index == b.index && a.name == b.name && a.uuid == b.uuid;
}
bool same(const Range& a, const Range& b) {
  return a.parent == b.parent && a.domain == b.domain && a.name == b.name;
}
bool same(const Work& a, const Work& b) {
  return a.process == b.process && a.tid == b.tid && a.thread == b.thread && a.ustack == b.ustack &&
         a.kstack == b.kstack && a.capture == b.capture && a.range == b.range && a.device == b.device &&
         a.stream == b.stream && a.op == b.op && a.name == b.name && a.flags == b.flags;
}
bool same(const GpuModule& a, const GpuModule& b) {
  return a.name == b.name && a.hash == b.hash;
}
bool same(const GpuPlace& a, const GpuPlace& b) {  // but for the frames
  return a.module == b.module && a.function == b.function && a.offset == b.offset && a.instruction == b.instruction;
}
bool same(const Sampling& a, const Sampling& b) {
  return a.period == b.period && a.unit == b.unit;
}
bool same(std::span<const Element> a, std::span<const Element> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Element& x, const Element& y) {
    return x.position == y.position && x.is_label == y.is_label;
  });
}

template <typename Row, typename Id>
Reason define_row(const char* kind, IdIndex& ids, std::vector<Row>& rows, Id id, const Row& row) {
  const uint32_t known = ids.find(index(id));
  if (known != IdIndex::kNone) {
    return same(rows[known], row) ? Reason() : redefined(kind, index(id));
  }
  ids.insert(index(id), static_cast<uint32_t>(rows.size()));
  rows.push_back(row);
  return std::nullopt;
}

std::string hexadecimal(uint64_t value) {
  std::array<char, 18> text{'0', 'x'};
  const auto end = std::to_chars(text.data() + 2, text.data() + text.size(), value, 16);
  return std::string(text.data(), end.ptr);
}

}  // namespace

Reason Tables::add(const Record& record) {
  return std::visit([this](const auto& r) { return this->define(r); }, record);
}

Reason Tables::define(const String& r) {
  const uint32_t known = strings_.find(index(r.id));
  if (known != IdIndex::kNone) {
    return texts_[known] == r.value ? Reason() : redefined("STRING", index(r.id));
  }
  strings_.insert(index(r.id), static_cast<uint32_t>(texts_.size()));
  texts_.emplace_back(r.value);
  return std::nullopt;
}

std::string_view Tables::text(StringId id) const {
  const uint32_t position = strings_.find(index(id));
  return position == IdIndex::kNone ? std::string_view() : std::string_view(texts_[position]);
}

Reason Tables::check_strings(std::initializer_list<StringId> ids) const {
  for (const StringId id : ids) {
    if (!none_or_known(strings_, id)) {
      return undefined("STRING", index(id));
    }
  }
  return std::nullopt;
}

Reason Tables::check_place(ProcessId process, StackId ustack, StackId kstack) const {
  if (!none_or_known(processes_, process)) {
    return undefined("PROCESS", index(process));
  }
  if (!none_or_known(stacks_[0], ustack)) {
    return undefined("USTACK", index(ustack));
  }
  if (!none_or_known(stacks_[1], kstack)) {
    return undefined("KSTACK", index(kstack));
  }
  return std::nullopt;
}

Reason Tables::define(const Frame& r) {
  if (Reason reason = check_strings({r.name, r.file, r.module, r.build_id})) {
    return reason;
  }
  return define_row("FRAME", frames_, frame_rows_, r.id, r);
}

Reason Tables::define(const Process& r) {
  if (Reason reason = check_strings({r.name, r.command, r.rank, r.host})) {
    return reason;
  }
  return define_row("PROCESS", processes_, process_rows_, r.id, r);
}

Reason Tables::define(const Device& r) {
  if (Reason reason = check_strings({r.backend, r.name, r.uuid})) {
    return reason;
  }
  return define_row("DEVICE", devices_, device_rows_, r.id, r);
}

std::optional<uint32_t> Tables::intern_label(std::string_view label) {
  const auto found = label_ids_.find(label);
  if (found != label_ids_.end()) {
    return found->second;
  }
  if (labels_.size() >= kMostLabels) {
    return std::nullopt;
  }
  const auto position = static_cast<uint32_t>(labels_.size());
  label_ids_.emplace(labels_.emplace_back(label), position);  // a deque's strings stay where they are
  return position;
}

Reason Tables::define(const Stack& r) {
  scratch_.clear();
  for (const StackElement& element : r.elements) {
    if (element.is_address || !element.text.empty()) {
      const auto label = intern_label(element.is_address ? hexadecimal(element.address) : std::string(element.text));
      if (!label) {
        return "the stacks hold more than " + std::to_string(kMostLabels) + " distinct texts and addresses";
      }
      scratch_.emplace_back(*label, true);
    } else {
      const uint32_t position = frames_.find(index(element.frame));
      if (position == IdIndex::kNone) {
        return undefined("FRAME", index(element.frame));
      }
      scratch_.emplace_back(position, false);
    }
  }
  IdIndex& ids = stacks_[r.kernel ? 1 : 0];
  const uint32_t known = ids.find(index(r.id));
  if (known != IdIndex::kNone) {
    const std::span<const Element> before = stack(r.kernel, r.id);
    return same(before, scratch_) ? Reason() : redefined(r.kernel ? "KSTACK" : "USTACK", index(r.id));
  }
  ids.insert(index(r.id), static_cast<uint32_t>(stack_rows_.size()));
  stack_rows_.push_back({elements_.size(), scratch_.size()});
  elements_.insert(elements_.end(), scratch_.begin(), scratch_.end());
  return std::nullopt;
}

Reason Tables::check_range(RangeId range) const {
  return none_or_known(ranges_, range) ? Reason() : undefined("RANGE", index(range));
}

Reason Tables::define(const Range& r) {
  if (Reason reason = check_range(r.parent)) {
    return reason;
  }
  if (Reason reason = check_strings({r.domain, r.name})) {
    return reason;
  }
  const uint32_t parent = ranges_.find(index(r.parent));
  const uint32_t depth = parent == IdIndex::kNone ? 1 : range_depths_[parent] + 1;
  if (depth > kMaxRangeDepth) {
    return "RANGE " + std::to_string(index(r.id)) + " is nested deeper than " + std::to_string(kMaxRangeDepth);
  }
  Reason reason = define_row("RANGE", ranges_, range_rows_, r.id, r);
  if (range_depths_.size() < range_rows_.size()) {
    range_depths_.push_back(depth);
  }
  return reason;
}

Reason Tables::define(const Work& r) {
  if (!none_or_known(devices_, r.device)) {
    return undefined("DEVICE", index(r.device));
  }
  if (Reason reason = check_strings({r.thread, r.name})) {
    return reason;
  }
  if (Reason reason = check_place(r.process, r.ustack, r.kstack)) {
    return reason;
  }
  if (Reason reason = check_place(ProcessId{}, r.capture, StackId{})) {
    return reason;
  }
  if (Reason reason = check_range(r.range)) {
    return reason;
  }
  return define_row("WORK", works_, work_rows_, r.id, r);
}

Reason Tables::check_work(WorkId work, const char* record, WorkKind wanted) const {
  const Work* const known = this->work(work);
  if (known == nullptr) {
    return undefined("WORK", index(work));
  }
  if (work_kind(known->op) != wanted) {
    return std::string(record) + ": WORK " + std::to_string(index(work)) + " has the operation '" +
           std::string(word(known->op)) + "', which is not of this kind of record";
  }
  return std::nullopt;
}

Reason Tables::define(const Idle& r) const {
  if (device(r.device) == nullptr) {
    return undefined("DEVICE", index(r.device));
  }
  return none_or_known(works_, r.work) ? Reason() : undefined("WORK", index(r.work));
}

Reason Tables::define(const Event& r) const {
  return work(r.work) != nullptr ? Reason() : undefined("WORK", index(r.work));
}

Reason Tables::define(const Call& r) const {
  Reason reason = check_strings({r.function});
  return reason ? reason : check_place(r.process, r.ustack, StackId{});
}

Reason Tables::define(const Span& r) const {
  Reason reason = check_range(r.range);
  return reason ? reason : check_place(r.process, StackId{}, StackId{});
}

Reason Tables::define(const Coverage& r) const {
  return check_place(r.process, StackId{}, StackId{});
}

Reason Tables::define(const GpuModule& r) {
  if (Reason reason = check_strings({r.name, r.hash})) {
    return reason;
  }
  return define_row("GPU_MODULE", gpu_modules_, gpu_module_rows_, r.id, r);
}

Reason Tables::define(const GpuPlace& r) {
  if (!none_or_known(gpu_modules_, r.module)) {
    return undefined("GPU_MODULE", index(r.module));
  }
  if (Reason reason = check_strings({r.function, r.instruction})) {
    return reason;
  }
  scratch_.clear();
  for (const FrameId frame : r.frames) {
    const uint32_t position = frames_.find(index(frame));
    if (position == IdIndex::kNone) {
      return undefined("FRAME", index(frame));
    }
    scratch_.emplace_back(position, false);
  }
  const uint32_t known = gpu_places_.find(index(r.id));
  if (known != IdIndex::kNone && !same(run(gpu_place_frames_[known]), scratch_)) {
    return redefined("GPU_PLACE", index(r.id));
  }
  GpuPlace row = r;
  row.frames = {};  // the line's
  Reason reason = define_row("GPU_PLACE", gpu_places_, gpu_place_rows_, r.id, row);
  if (gpu_place_frames_.size() < gpu_place_rows_.size()) {
    gpu_place_frames_.push_back({elements_.size(), scratch_.size()});
    elements_.insert(elements_.end(), scratch_.begin(), scratch_.end());
  }
  return reason;
}

Reason Tables::define(const GpuInstruction& r) {
  for (const GpuPlaceId place : {r.place, r.waits_for}) {
    if (!gpu_places_.has(index(place)) && (place == r.place || index(place) != 0)) {
      return undefined("GPU_PLACE", index(place));
    }
  }
  if (Reason reason = check_strings({r.text, r.what})) {
    return reason;
  }
  const auto [known, is_new] = gpu_instructions_.try_emplace(index(r.place), r);
  const GpuInstruction& row = known->second;
  const bool equal = row.text == r.text && row.waits_for == r.waits_for && row.what == r.what;
  return is_new || equal ? Reason() : redefined("GPU_INSTRUCTION", index(r.place));
}

Reason Tables::define(const GpuCount& r) {
  if (index(r.place) == 0 || !gpu_places_.has(index(r.place))) {
    return undefined("GPU_PLACE", index(r.place));
  }
  if (!none_or_known(devices_, r.device)) {
    return undefined("DEVICE", index(r.device));
  }
  if (Reason reason = check_strings({r.name})) {
    return reason;
  }
  if (Reason reason = check_place(r.process, StackId{}, StackId{})) {
    return reason;
  }
  uint64_t& sum = gpu_counts_[{r.place, r.name}];
  if (__builtin_add_overflow(sum, r.value, &sum)) {
    return "the sum of what GPU_PLACE " + std::to_string(index(r.place)) + " counted does not fit into 64 bits";
  }
  return std::nullopt;
}

Reason Tables::define(const Sampling& r) {
  if (Reason reason = check_strings({r.unit})) {
    return reason;
  }
  return define_row("SAMPLING", samplings_, sampling_rows_, r.id, r);
}

Reason Tables::define(const EuStall& r) const {
  if (!none_or_known(gpu_places_, r.place)) {
    return undefined("GPU_PLACE", index(r.place));
  }
  if (!none_or_known(samplings_, r.sampling)) {
    return undefined("SAMPLING", index(r.sampling));
  }
  if (Reason reason = check_strings({r.reason})) {
    return reason;
  }
  return check_work(r.work, "EUSTALL", WorkKind::gpu);
}

Reason Tables::define(const Loss& r) const {
  return check_place(r.process, StackId{}, StackId{});
}

std::span<const Element> Tables::stack(bool kernel, StackId id) const {
  const uint32_t position = stacks_[kernel ? 1 : 0].find(index(id));
  if (position == IdIndex::kNone) {
    return {};
  }
  return run(stack_rows_[position]);
}

GpuInstruction Tables::instruction(GpuPlaceId id) const {
  const auto found = gpu_instructions_.find(index(id));
  GpuInstruction known = found == gpu_instructions_.end() ? GpuInstruction{.place = id} : found->second;
  if (const GpuPlace* const place = gpu_place(id); place != nullptr && index(place->instruction) != 0) {
    known.text = place->instruction;
  }
  return known;
}

std::span<const Element> Tables::place_frames(GpuPlaceId id) const {
  const uint32_t position = gpu_places_.find(index(id));
  return position == IdIndex::kNone ? std::span<const Element>() : run(gpu_place_frames_[position]);
}

}  // namespace gpuprof::profile
