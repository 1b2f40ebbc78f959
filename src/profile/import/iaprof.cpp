#include "profile/import/iaprof.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "profile/import/published.h"

namespace gpuprof::profile {
namespace {

constexpr std::array<std::string_view, 16> kTabbedKinds = {
    "string", "eustall",   "interval_start", "interval_end", "interval", "kernel", "metric",     "e",
    "pid",    "proc_name", "ustack",         "kstack",       "gpu_file", "frame",  "gpu_symbol", "insn_text"};

// Length of a slice in ns. It is the default length of iaprof's intervals, because the files do not contain the
// actual length. They contain the end time of each interval. The samples of an interval go into the slice in which
// the interval ended.
constexpr std::string_view kSliceText = "10000000";
constexpr uint64_t kSliceNs = 10'000'000;

constexpr std::string_view kNoFrameName = "[unknown]";
constexpr const char* kNoTabbedRecord = "this is not a record: a line begins with its kind and a tab";

bool looks_like_a_tabbed_kind(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool parse(std::string_view digits, int base, uint64_t& out) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out, base);
  return !digits.empty() && error == std::errc() && end == digits.data() + digits.size();
}

std::string of(std::string_view field, const char* what) {
  return std::string(field).append(" ").append(what);
}

}  // namespace

// Parses the fields of a line, from left to right. After a failure, reason() says why it failed.
class IaprofForm::IaprofFields {
 public:
  IaprofFields(std::string_view text, bool has_fields) : text_(text), left_(has_fields) {}

  bool number(std::string_view field, uint64_t& out) {
    std::string_view digits;
    return take(field, digits) && (parse(digits, 10, out) || fail(of(field, "is not a number of at most 64 bits")));
  }
  bool number(std::string_view field, uint32_t& out) {
    uint64_t wide = 0;
    if (!number(field, wide)) {
      return false;
    }
    out = static_cast<uint32_t>(wide);
    return wide <= UINT32_MAX || fail(of(field, "is too large"));
  }
  // Takes a hexadecimal number, with or without 0x.
  bool hexadecimal(std::string_view field, uint64_t& out) {
    std::string_view digits;
    if (!take(field, digits)) {
      return false;
    }
    digits.remove_prefix(digits.starts_with("0x") ? 2 : 0);
    return parse(digits, 16, out) || fail(of(field, "is not a hexadecimal number of at most 64 bits"));
  }
  bool seconds(std::string_view field, uint64_t& ns) {
    constexpr double kNs = 1e9;
    constexpr double kMost = 9e18;
    std::string_view text;
    if (!take(field, text)) {
      return false;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || !(value >= 0) ||
        value * kNs >= kMost) {
      return fail(of(field, "is not a time in seconds"));
    }
    ns = static_cast<uint64_t>(std::llround(value * kNs));
    return true;
  }
  bool text(std::string_view field, std::string_view& out) { return take(field, out); }
  bool rest(std::string_view field, std::string_view& out) {
    if (!left_) {
      return fail(of(field, "is missing"));
    }
    out = text_;
    left_ = false;
    return true;
  }
  bool done() { return !left_ || fail("there are more fields than this kind has"); }

  [[nodiscard]] size_t count() const {
    return left_ ? 1 + static_cast<size_t>(std::count(text_.begin(), text_.end(), '\t')) : 0;
  }
  [[nodiscard]] std::string_view ahead() const { return text_; }
  // Returns the field after the next `skipped` ones, or an empty text.
  [[nodiscard]] std::string_view ahead(size_t skipped) const {
    std::string_view text = text_;
    for (; skipped > 0; --skipped) {
      const size_t tab = text.find('\t');
      text = tab == std::string_view::npos ? std::string_view() : text.substr(tab + 1);
    }
    return text.substr(0, text.find('\t'));
  }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  bool take(std::string_view field, std::string_view& out) {
    if (!left_) {
      return fail(of(field, "is missing"));
    }
    const size_t tab = text_.find('\t');
    out = text_.substr(0, tab);
    left_ = tab != std::string_view::npos;
    text_.remove_prefix(left_ ? tab + 1 : text_.size());
    return true;
  }
  bool fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  std::string_view text_;
  bool left_;
  std::string reason_;
};

bool IaprofForm::is_kind(std::string_view kind) {
  return std::find(kTabbedKinds.begin(), kTabbedKinds.end(), kind) != kTabbedKinds.end();
}

bool IaprofForm::is_kind_prefix(std::string_view text) {
  return std::any_of(kTabbedKinds.begin(), kTabbedKinds.end(),
                     [text](std::string_view kind) { return kind.starts_with(text); });
}

std::optional<Record> IaprofForm::take(Line line, std::string& reason) {
  const std::string_view text(line.begin, static_cast<size_t>(line.end - line.begin));
  const std::string_view kind = text.substr(0, text.find('\t'));
  const bool has_fields = kind.size() < text.size();
  IaprofFields in(has_fields ? text.substr(kind.size() + 1) : std::string_view(), has_fields);
  records_.begin_line();
  elements_.clear();
  reason_.clear();
  if (!begun_) {
    records_.add(Meta{"interval_ns", kSliceText});
  }
  bool known = true;
  const bool good = take_kind(kind, in, known);
  if (!known && looks_like_a_tabbed_kind(kind)) {
    records_.add(Unknown{kind});
  } else if (!known || !good) {
    records_.begin_line();
    const std::string& why = in.reason().empty() ? reason_ : in.reason();
    reason = known ? std::string(kind).append(": ").append(why) : kNoTabbedRecord;
    return std::nullopt;
  }
  begun_ = true;
  return next();
}

bool IaprofForm::take_kind(std::string_view kind, IaprofFields& in, bool& known) {
  if (kind == "e") return take_short_stall(in);
  if (kind == "eustall") return take_stall(in);
  if (kind == "string") return take_string(in);
  if (kind == "proc_name") return take_field(&FileOrigin::process_name, in);
  if (kind == "pid") return take_pid(in);
  if (kind == "ustack") return take_field(&FileOrigin::ustack, in);
  if (kind == "kstack") return take_field(&FileOrigin::kstack, in);
  if (kind == "gpu_file") return take_field(&FileOrigin::file, in);
  if (kind == "gpu_symbol") return take_field(&FileOrigin::symbol, in);
  if (kind == "insn_text") return take_field(&FileOrigin::instruction, in);
  if (kind == "kernel") return take_kernel(in);
  if (kind == "interval_start" || kind == "interval") return take_interval(kind, in);
  if (kind == "interval_end" || kind == "shader_type" || kind == "frame" || kind == "metric") return true;
  known = false;
  return false;
}

bool IaprofForm::take_string(IaprofFields& in) {
  uint64_t id = 0;
  std::string_view text;
  if (!in.number("id", id) || !in.rest("value", text)) {
    return false;
  }
  if (id == 0) {
    return fail("id is 0, but ids begin at 1");
  }
  const auto [known, is_new] = strings_.try_emplace(id);
  if (!is_new) {
    return texts_[index(known->second) - 1] == text ||
           fail("string " + std::to_string(id) + " is already defined, with another value");
  }
  texts_.emplace_back(text);
  known->second = records_.string(text);
  return true;
}

// Sets the current slice from the time of the interval. If the profile has no times, sets it from the number of the
// interval.
bool IaprofForm::take_interval(std::string_view kind, IaprofFields& in) {
  uint64_t number = 0;
  uint64_t ns = 0;
  if (!in.number("number", number)) {
    return false;
  }
  if (in.count() > 0 ? !in.seconds("time", ns) || !in.done() : kind == "interval") {
    return false;
  }
  if (ns == 0 && __builtin_mul_overflow(number, kSliceNs, &ns)) {
    return fail("the number is too large");
  }
  if (!timed_) {
    timed_ = true;
    first_ns_ = ns;
  }
  slice_ = ns < first_ns_ ? 0 : (ns - first_ns_) / kSliceNs;
  return true;
}

bool IaprofForm::take_field(uint64_t FileOrigin::*field, IaprofFields& in) {
  return in.number("id", origin_.*field) && in.done();
}

bool IaprofForm::take_pid(IaprofFields& in) {
  return in.number("pid", origin_.pid) && in.done();
}

bool IaprofForm::take_kernel(IaprofFields& in) {
  uint64_t address = 0;  // address of the kernel's code; no record stores it
  FileOrigin origin;
  if (!in.hexadecimal("address", address) || !in.number("command_name", origin.process_name) ||
      !in.number("pid", origin.pid) || !in.number("stack", origin.ustack) || !in.number("file", origin.file) ||
      !in.number("symbol", origin.symbol) || !in.done()) {
    return false;
  }
  origin_ = origin;
  return true;
}

// Parses an `eustall` line. In the dialect "counts", its first field begins with 0x. In the dialect "texts", its tenth
// field is the name of a stall. Otherwise, it is of the dialect "whole lines" (see FORMAT.md).
bool IaprofForm::take_stall(IaprofFields& in) {
  if (in.ahead().starts_with("0x")) {
    return take_stall_counts(in);
  }
  constexpr size_t kStall = 9;
  const std::string_view stall = in.ahead(kStall);
  return !stall.empty() && stall.find_first_not_of("0123456789") != std::string_view::npos ? take_stall_texts(in)
                                                                                           : take_whole_stall(in);
}

bool IaprofForm::take_stall_texts(IaprofFields& in) {
  std::string_view process;
  std::string_view file;
  std::string_view symbol;
  std::string_view instruction;
  std::string_view stall;
  FileOrigin stacks;
  OwnOrigin own;
  uint64_t is_debug_area = 0;
  uint64_t is_system_routine = 0;
  uint64_t offset = 0;
  uint64_t count = 0;
  if (!in.text("proc_name", process) || !in.number("pid", stacks.pid) || !in.number("ustack", stacks.ustack) ||
      !in.number("kstack", stacks.kstack) || !in.number("is_debug_area", is_debug_area) ||
      !in.number("is_system_routine", is_system_routine) || !in.text("gpu_file", file) ||
      !in.text("gpu_symbol", symbol) || !in.text("insn_text", instruction) || !in.text("stall_type", stall) ||
      !in.hexadecimal("offset", offset) || !in.number("count", count) || !in.done() || !resolve(stacks, own)) {
    return false;
  }
  own.process_name = intern(process);
  own.file = intern(file);
  own.symbol = intern(symbol);
  own.instruction = intern(instruction);
  add_sample(own, intern(stall), offset, count);
  return true;
}

bool IaprofForm::take_whole_stall(IaprofFields& in) {
  FileOrigin origin;
  uint64_t is_debug_area = 0;
  uint64_t is_system_routine = 0;
  uint64_t stall = 0;
  uint64_t offset = 0;
  uint64_t count = 0;
  return in.number("proc_name", origin.process_name) && in.number("pid", origin.pid) &&
         in.number("ustack", origin.ustack) && in.number("kstack", origin.kstack) &&
         in.number("is_debug_area", is_debug_area) && in.number("is_system_routine", is_system_routine) &&
         in.number("gpu_file", origin.file) && in.number("gpu_symbol", origin.symbol) &&
         in.number("insn_text", origin.instruction) && in.number("stall_type", stall) &&
         in.hexadecimal("offset", offset) && in.number("count", count) && in.done() &&
         add_sample(origin, stall, offset, count);
}

bool IaprofForm::take_short_stall(IaprofFields& in) {
  uint64_t whole_stack = 0;  // the complete line as a string; ignored, because other lines contain the same
  uint64_t stall = 0;
  uint64_t offset = 0;
  uint64_t count = 0;
  const bool has_whole_stack = in.count() == 4;
  return (!has_whole_stack || in.number("stack", whole_stack)) && in.number("stall_type", stall) &&
         in.hexadecimal("offset", offset) && in.number("count", count) && in.done() &&
         add_sample(origin_, stall, offset, count);
}

bool IaprofForm::take_stall_counts(IaprofFields& in) {
  uint64_t offset = 0;
  std::array<uint64_t, kStallReasons.size()> counts{};
  if (!in.hexadecimal("offset", offset) || !in.number("insn_text", origin_.instruction)) {
    return false;
  }
  for (size_t i = 1; i < counts.size(); ++i) {
    if (!in.number(kStallReasons[i], counts[i])) {
      return false;
    }
  }
  OwnOrigin own;
  if (!in.done() || !resolve(origin_, own)) {
    return false;
  }
  for (size_t i = 1; i < counts.size(); ++i) {
    if (counts[i] > 0) {
      add_sample(own, reason_of_column(i), offset, counts[i]);
    }
  }
  return true;
}

bool IaprofForm::add_sample(const FileOrigin& origin, uint64_t stall, uint64_t offset, uint64_t count) {
  OwnOrigin own;
  StringId reason{};
  if (!string(stall, reason) || !resolve(origin, own)) {
    return false;
  }
  add_sample(own, reason, offset, count);
  return true;
}

// Translates the ids in the file to ids of STRING records. Fails if an id is undefined or a stack is invalid. Changes
// only `own`, so a rejected line has no effect.
bool IaprofForm::resolve(const FileOrigin& origin, OwnOrigin& own) {
  own.pid = origin.pid;
  return string(origin.process_name, own.process_name) && string(origin.ustack, own.ustack) &&
         string(origin.kstack, own.kstack) && string(origin.file, own.file) && string(origin.symbol, own.symbol) &&
         string(origin.instruction, own.instruction) && is_stack(false, own.ustack) && is_stack(true, own.kstack);
}

void IaprofForm::add_sample(const OwnOrigin& origin, StringId reason, uint64_t offset, uint64_t count) {
  define_stack(false, origin.ustack);
  define_stack(true, origin.kstack);
  if (index(origin.file) != 0 && !modules_.has(index(origin.file))) {
    modules_.insert(index(origin.file), 0);
    records_.add(GpuModule{GpuModuleId{index(origin.file)}, origin.file, StringId{}});
  }
  EuStall sample;
  sample.slice = slice_;
  sample.work = records_.work(records_.process(origin.process_name, origin.pid), StackId{index(origin.ustack)},
                              StackId{index(origin.kstack)}, origin.symbol);
  sample.place = records_.place(origin.file, origin.symbol, origin.instruction, offset);
  sample.reason = reason;
  sample.count = count;
  records_.add(sample);
}

bool IaprofForm::string(uint64_t id, StringId& name) {
  if (id == 0) {
    return true;
  }
  const auto known = strings_.find(id);
  if (known == strings_.end()) {
    return fail("string " + std::to_string(id) + " is not defined");
  }
  name = known->second;
  return true;
}

// Checks each stack only once, because many samples have the same stack.
bool IaprofForm::is_stack(bool kernel, StringId id) {
  if (index(id) == 0 || stacks_[kernel ? 1 : 0].has(index(id))) {
    return true;
  }
  const std::string& text = texts_[index(id) - 1];
  return static_cast<size_t>(std::count(text.begin(), text.end(), ';')) < kMostFrames ||
         fail("the stack has more than 65536 frames");
}

// A stack is a string of frames, outermost first. A ';' separates the frames, and may also follow the last one.
void IaprofForm::define_stack(bool kernel, StringId id) {
  IdIndex& known = stacks_[kernel ? 1 : 0];
  if (index(id) == 0 || known.has(index(id))) {
    return;
  }
  known.insert(index(id), 0);
  std::vector<StackElement>& frames = elements_.emplace_back();
  const std::string_view all = texts_[index(id) - 1];
  for (size_t at = 0; at < all.size();) {
    const size_t end = std::min(all.find(';', at), all.size());
    const std::string_view frame = all.substr(at, end - at);
    StackElement& element = frames.emplace_back();
    element.is_address = frame.starts_with("0x") && parse(frame.substr(2), 16, element.address);
    if (!element.is_address) {
      element.address = 0;
      element.text = frame.empty() ? kNoFrameName : frame;
    }
    at = end + 1;
  }
  records_.add(Stack{kernel, StackId{index(id)}, frames});
}

StringId IaprofForm::reason_of_column(size_t column) {
  if (index(reasons_[column]) == 0) {
    texts_.emplace_back(kStallReasons[column]);
    reasons_[column] = records_.string(kStallReasons[column]);
  }
  return reasons_[column];
}

StringId IaprofForm::intern(std::string_view text) {
  if (text.empty()) {
    return {};
  }
  const auto [known, is_new] = interned_.try_emplace(std::string(text));
  if (is_new) {
    texts_.emplace_back(text);
    known->second = records_.string(text);
  }
  return known->second;
}

bool IaprofForm::fail(std::string reason) {
  reason_ = std::move(reason);
  return false;
}

}  // namespace gpuprof::profile
