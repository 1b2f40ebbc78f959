#include "profile/import/published.h"

#include <algorithm>
#include <functional>

namespace gpuprof::profile {
namespace {

constexpr std::array<std::string_view, 8> kPublishedKinds = {"EUSTALL",  "STRING",     "PROC_NAME", "USTACK",
                                                             "GPU_FILE", "GPU_SYMBOL", "INSN_TEXT", "KSTACK"};
constexpr std::array<const char*, 4> kTextKinds = {"STRING", "GPU_FILE", "GPU_SYMBOL", "INSN_TEXT"};

bool own_id(Fields& in, uint32_t& id) {
  return in.number("id", id) && (id != 0 || in.fail("id", "is 0, but ids begin at 1"));
}

std::string not_defined(const char* kind, uint32_t id) {
  return std::string(kind) + " " + std::to_string(id) + " is not defined";
}

}  // namespace

struct PublishedForm::Stall {
  uint32_t proc_name = 0;
  uint32_t pid = 0;
  uint32_t ustack = 0;
  uint32_t kstack = 0;
  uint32_t gpu_file = 0;
  uint32_t gpu_symbol = 0;
  uint32_t insn_text = 0;
  uint32_t stall_type = 0;
  uint64_t offset = 0;
  uint64_t count = 0;

  bool parse(Fields& in) {
    return in.number("proc_name_id", proc_name) && in.number("pid", pid) && in.number("ustack_id", ustack) &&
           in.number("kstack_id", kstack) && in.number("gpu_file_id", gpu_file) &&
           in.number("gpu_symbol_id", gpu_symbol) && in.number("insn_text_id", insn_text) &&
           in.number("stall_type_id", stall_type) && in.offset("offset", offset) && in.number("count", count) &&
           in.done();
  }
};

bool PublishedForm::is_kind(std::string_view kind) {
  return std::find(kPublishedKinds.begin(), kPublishedKinds.end(), kind) != kPublishedKinds.end();
}

bool PublishedForm::is_kind_prefix(std::string_view text) {
  return std::any_of(kPublishedKinds.begin(), kPublishedKinds.end(),
                     [text](std::string_view kind) { return kind.starts_with(text); });
}

std::optional<Record> PublishedForm::take(Line line, std::string& reason) {
  const std::string_view text(line.begin, static_cast<size_t>(line.end - line.begin));
  const std::string_view kind = text.substr(0, text.find(';'));
  Fields in(line.begin + kind.size() + 1, line.end, kind.size() < text.size(), false);
  records_.begin_line();
  bool good = true;
  if (kind == "EUSTALL") {
    good = take_stall(in);
  } else if (const auto* const of_text = std::find(kTextKinds.begin(), kTextKinds.end(), kind);
             of_text != kTextKinds.end()) {
    good = take_text(static_cast<Text>(of_text - kTextKinds.begin()), in);
  } else if (kind == "USTACK" || kind == "KSTACK") {
    good = take_stack(kind == "KSTACK", in);
  } else if (kind == "PROC_NAME") {
    good = take_process_name(in);
  } else if (looks_like_a_kind(kind)) {
    return Unknown{kind};
  } else {
    reason = kNoRecord;
    return std::nullopt;
  }
  if (!good) {
    records_.begin_line();
    reason = in.reason().empty() ? undefined_ : std::string(kind).append(": ").append(in.reason());
  }
  return next();
}

std::optional<Record> PublishedForm::next() {
  return records_.next();
}

// Parses a line `id; value`. The value may hold any bytes.
bool PublishedForm::take_text(Text kind, Fields& in) {
  uint32_t id = 0;
  std::string_view value;
  if (!own_id(in, id) || !in.rest("value", value)) {
    return false;
  }
  const uint32_t known = texts_[kind].find(id);
  if (known != IdIndex::kNone) {
    undefined_ = std::string(kTextKinds[kind]) + " " + std::to_string(id) + " is already defined, with another value";
    return text_hashes_[known - 1] == std::hash<std::string_view>{}(value);
  }
  const StringId name = add_string(value);
  texts_[kind].insert(id, index(name));
  if (kind == kGpuFile) {
    records_.add(GpuModule{GpuModuleId{index(name)}, name, StringId{}});
  }
  return true;
}

bool PublishedForm::take_process_name(Fields& in) {
  uint32_t name = 0;
  uint32_t pid = 0;
  if (!in.number("proc_name_id", name) || !in.number("pid", pid) || !in.done() || !defined(kString, name)) {
    return false;
  }
  records_.process(string(kString, name), pid);
  return true;
}

bool PublishedForm::take_stack(bool kernel, Fields& in) {
  elements_.clear();
  uint32_t id = 0;
  if (!own_id(in, id)) {
    return false;
  }
  std::string_view nothing;
  while (!in.at_end()) {
    if (elements_.size() == kMostFrames) {
      return in.fail("the stack has more than 65536 frames");
    }
    if (in.empty_to_end()) {  // some writers of this form also write ';' after the last frame
      in.rest("frame", nothing);
      break;
    }
    if (!in.element(elements_.emplace_back())) {
      return false;
    }
  }
  IdIndex& known = stacks_[kernel ? 1 : 0];
  if (!known.has(id)) {
    known.insert(id, 0);
  }
  records_.add(Stack{kernel, StackId{id}, elements_});
  return true;
}

bool PublishedForm::take_stall(Fields& in) {
  Stall stall;
  if (!stall.parse(in) || !check(stall)) {
    return false;
  }
  EuStall sample;
  const StringId symbol = string(kGpuSymbol, stall.gpu_symbol);
  const ProcessId owner = records_.process(string(kString, stall.proc_name), stall.pid);
  sample.work = records_.work(owner, StackId{stall.ustack}, StackId{stall.kstack}, symbol);
  sample.place =
      records_.place(string(kGpuFile, stall.gpu_file), symbol, string(kInsnText, stall.insn_text), stall.offset);
  sample.reason = reason_name(stall.stall_type);
  sample.count = stall.count;
  records_.add(sample);
  return true;
}

bool PublishedForm::check(const Stall& stall) {
  if (!defined(kGpuFile, stall.gpu_file) || !defined(kGpuSymbol, stall.gpu_symbol) ||
      !defined(kInsnText, stall.insn_text) || !defined(kString, stall.proc_name)) {
    return false;
  }
  if (stall.ustack != 0 && !stacks_[0].has(stall.ustack)) {
    undefined_ = not_defined("USTACK", stall.ustack);
    return false;
  }
  if (stall.kstack != 0 && !stacks_[1].has(stall.kstack)) {
    undefined_ = not_defined("KSTACK", stall.kstack);
    return false;
  }
  return true;
}

bool PublishedForm::defined(Text kind, uint32_t id) {
  if (id == 0 || texts_[kind].has(id)) {
    return true;
  }
  undefined_ = not_defined(kTextKinds[kind], id);
  return false;
}

StringId PublishedForm::add_string(std::string_view value) {
  text_hashes_.push_back(std::hash<std::string_view>{}(value));
  return records_.string(value);
}

StringId PublishedForm::string(Text kind, uint32_t id) const {
  return id == 0 ? StringId{} : StringId{texts_[kind].find(id)};
}

StringId PublishedForm::reason_name(uint32_t stall_type) {
  if (stall_type == 0) {
    return StringId{};
  }
  StringId& name = reasons_[stall_type];
  if (index(name) == 0) {
    reason_text_ = stall_type < kStallReasons.size() ? kStallReasons[stall_type] : "type " + std::to_string(stall_type);
    name = add_string(reason_text_);
  }
  return name;
}

}  // namespace gpuprof::profile
