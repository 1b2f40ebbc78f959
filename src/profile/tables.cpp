#include "profile/tables.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "profile/words.h"

namespace gpuprof::profile {
namespace {

using Reason = std::optional<std::string>;

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

void IdIndex::insert(uint32_t id, uint32_t position) {
  ++count_;
  constexpr size_t kSmall = 1024;
  if (id >= std::max(kSmall, 4 * count_)) {
    sparse_.emplace(id, position);
    return;
  }
  if (id >= dense_.size()) {
    dense_.resize(std::max<size_t>(size_t{id} + 1, dense_.size() * 3 / 2), kNone);
  }
  dense_[id] = position;
}

uint32_t IdIndex::find_sparse(uint32_t id) const {
  const auto found = sparse_.find(id);
  return found == sparse_.end() ? kNone : found->second;
}

Reason Tables::add(const Record& record) {
  return std::visit([this](const auto& r) { return this->define(r); }, record);
}

Reason Tables::define_text(const char* kind, Texts& ids, uint32_t id, std::string_view value) {
  const uint32_t known = ids.find(id);
  if (known != IdIndex::kNone) {
    return texts_[known] == value ? Reason() : redefined(kind, id);
  }
  ids.insert(id, static_cast<uint32_t>(texts_.size()));
  texts_.emplace_back(value);
  return std::nullopt;
}

std::string_view Tables::text_of(const Texts& ids, uint32_t id) const {
  const uint32_t position = ids.find(id);
  return position == IdIndex::kNone ? std::string_view() : std::string_view(texts_[position]);
}

std::string_view Tables::text(StringId id) const {
  return text_of(strings_, index(id));
}

Reason Tables::check_strings(std::initializer_list<StringId> ids) const {
  for (const StringId id : ids) {
    if (!has(id)) {
      return undefined("STRING", index(id));
    }
  }
  return std::nullopt;
}

Reason Tables::check_place(ProcessId process, StackId ustack, StackId kstack) const {
  if (index(process) != 0 && processes_.find(index(process)) == IdIndex::kNone) {
    return undefined("PROCESS", index(process));
  }
  if (index(ustack) != 0 && stacks_[0].find(index(ustack)) == IdIndex::kNone) {
    return undefined("USTACK", index(ustack));
  }
  if (index(kstack) != 0 && stacks_[1].find(index(kstack)) == IdIndex::kNone) {
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
    const bool equal = std::equal(
        before.begin(), before.end(), scratch_.begin(), scratch_.end(),
        [](const Element& a, const Element& b) { return a.position == b.position && a.is_label == b.is_label; });
    return equal ? Reason() : redefined(r.kernel ? "KSTACK" : "USTACK", index(r.id));
  }
  ids.insert(index(r.id), static_cast<uint32_t>(stack_rows_.size()));
  stack_rows_.push_back({elements_.size(), scratch_.size()});
  elements_.insert(elements_.end(), scratch_.begin(), scratch_.end());
  return std::nullopt;
}

Reason Tables::check_range(RangeId range) const {
  const bool known = index(range) == 0 || ranges_.find(index(range)) != IdIndex::kNone;
  return known ? Reason() : undefined("RANGE", index(range));
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
  if (!has(r.device)) {
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
  const bool known = index(r.work) == 0 || work(r.work) != nullptr;
  return known ? Reason() : undefined("WORK", index(r.work));
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

Reason Tables::define(const EuStall& r) const {
  if (r.gpu_file != 0 && gpu_files_.find(r.gpu_file) == IdIndex::kNone) {
    return undefined("GPU_FILE", r.gpu_file);
  }
  if (r.gpu_symbol != 0 && gpu_symbols_.find(r.gpu_symbol) == IdIndex::kNone) {
    return undefined("GPU_SYMBOL", r.gpu_symbol);
  }
  if (r.insn_text != 0 && insn_texts_.find(r.insn_text) == IdIndex::kNone) {
    return undefined("INSN_TEXT", r.insn_text);
  }
  Reason reason = check_strings({r.proc_name});
  return reason ? reason : check_place(ProcessId{}, r.ustack, r.kstack);
}

Reason Tables::define(const ProcName& r) const {
  return check_strings({r.name});
}
Reason Tables::define(const Loss& r) const {
  return check_place(r.process, StackId{}, StackId{});
}

std::span<const Element> Tables::stack(bool kernel, StackId id) const {
  const uint32_t position = stacks_[kernel ? 1 : 0].find(index(id));
  if (position == IdIndex::kNone) {
    return {};
  }
  return std::span(elements_).subspan(stack_rows_[position].begin, stack_rows_[position].size);
}

}  // namespace gpuprof::profile
