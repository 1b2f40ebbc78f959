#include "profile/parse.h"

#include <algorithm>
#include <array>

#include "profile/fields.h"
#include "profile/words.h"

namespace gpuprof::profile {
namespace {

// More frames than any real stack has; keeps a hostile line's memory bounded.
constexpr size_t kMaxFrames = 65536;

struct Input {
  Fields& in;
  ParseContext& context;
};

// The value that ends a line of the published form may hold anything, ';' too.
bool value(Input& x, std::string_view field, std::string_view& out) {
  return x.context.published ? x.in.rest(field, out) : x.in.text(field, out);
}

// Ids that define something start at 1.
template <typename Id>
bool own_id(Input& x, Id& out) {
  uint32_t id = 0;
  if (!x.in.number("id", id)) {
    return false;
  }
  out = static_cast<Id>(id);
  return id != 0 || x.in.fail("id", "is 0, which means none");
}

bool parse(Input& x, Meta& r) {
  return x.in.text("key", r.key) && x.in.text("value", r.value);
}
bool parse(Input& x, String& r) {
  return own_id(x, r.id) && value(x, "value", r.value);
}

bool parse(Input& x, Frame& r) {
  std::string_view kind;
  if (!own_id(x, r.id) || !x.in.word("kind", kind)) {
    return false;
  }
  const auto known = frame_kind_of(kind);
  if (!known) {
    return x.in.fail("kind", "is not a kind of frame");
  }
  r.kind = *known;
  return x.in.id("name", r.name) && x.in.id("file", r.file) && x.in.number("line", r.line) &&
         x.in.id("module", r.module) && x.in.id("build_id", r.build_id) && x.in.offset("address", r.address);
}

bool parse(Input& x, Stack& r) {
  std::vector<StackElement>& elements = x.context.elements;
  elements.clear();
  if (!own_id(x, r.id)) {
    return false;
  }
  std::string_view left;
  while (!x.in.at_end()) {
    if (elements.size() == kMaxFrames) {
      return x.in.fail("the stack has more than 65536 frames");
    }
    if (x.context.published && x.in.empty_to_end()) {  // writers of that form may end each frame with a ';'
      x.in.rest("frame", left);
      break;
    }
    if (!x.in.element(elements.emplace_back())) {
      return false;
    }
  }
  r.elements = elements;
  return true;
}

bool parse(Input& x, Process& r) {
  return own_id(x, r.id) && x.in.number("pid", r.pid) && x.in.number("ppid", r.ppid) &&
         x.in.number("start_ns", r.start_ns) && x.in.id("name", r.name) && x.in.id("command", r.command);
}

bool parse(Input& x, Device& r) {
  return own_id(x, r.id) && x.in.id("backend", r.backend) && x.in.number("index", r.index) && x.in.id("name", r.name);
}

// The sum must be possible for that many values between min and max.
bool plausible(Input& x, const Gpu& r) {
  if (Uint128{r.count} * r.min_ns > r.sum_ns || r.sum_ns > Uint128{r.count} * r.max_ns) {
    return x.in.fail("field 'sum_ns' is not between count * min_ns and count * max_ns");
  }
  return true;
}

bool operation(Input& x, Op& out) {
  if (x.in.skip("kernel")) {  // nearly always
    out = Op::kernel;
    return true;
  }
  std::string_view word;
  if (!x.in.word("op", word)) {
    return false;
  }
  const auto known = op_of(word);
  if (!known) {
    return x.in.fail("op", "is not an operation");
  }
  out = *known;
  return true;
}

bool parse(Input& x, Gpu& r) {
  if (!x.in.number("slice", r.slice) || !x.in.id("process", r.process) || !x.in.id("thread", r.thread) ||
      !x.in.id("ustack", r.ustack) || !x.in.id("kstack", r.kstack) || !x.in.id("device", r.device) ||
      !x.in.number("stream", r.stream) || !operation(x, r.op)) {
    return false;
  }
  return x.in.id("name", r.name) && x.in.number("count", r.count) && x.in.number("sum_ns", r.sum_ns) &&
         x.in.number("min_ns", r.min_ns) && x.in.number("max_ns", r.max_ns) &&
         x.in.wide("sum_squares_ns2", r.sum_squares_ns2) && x.in.number("queue_ns", r.queue_ns) &&
         x.in.number("bytes", r.bytes) && plausible(x, r);
}

bool parse(Input& x, Launch& r) {
  return x.in.number("slice", r.slice) && x.in.id("process", r.process) && x.in.id("thread", r.thread) &&
         x.in.id("ustack", r.ustack) && x.in.id("kstack", r.kstack) && x.in.id("function", r.function) &&
         x.in.number("count", r.count);
}

bool parse(Input& x, ProcName& r) {
  return x.in.id("proc_name_id", r.name) && x.in.number("pid", r.pid);
}
bool parse(Input& x, GpuFile& r) {
  return own_id(x, r.id) && value(x, "name", r.name);
}
bool parse(Input& x, GpuSymbol& r) {
  return own_id(x, r.id) && value(x, "name", r.name);
}
bool parse(Input& x, InsnText& r) {
  return own_id(x, r.id) && value(x, "text", r.text);
}

bool parse(Input& x, EuStall& r) {
  return x.in.id("proc_name_id", r.proc_name) && x.in.number("pid", r.pid) && x.in.id("ustack_id", r.ustack) &&
         x.in.id("kstack_id", r.kstack) && x.in.number("gpu_file_id", r.gpu_file) &&
         x.in.number("gpu_symbol_id", r.gpu_symbol) && x.in.number("insn_text_id", r.insn_text) &&
         x.in.number("stall_type_id", r.stall_type) && x.in.offset("offset", r.offset) && x.in.number("count", r.count);
}

bool parse(Input& x, Loss& r) {
  return x.in.id("process", r.process) && x.in.text("reason", r.reason) && x.in.number("count", r.count);
}

bool parse(Input& x, End& r) {
  return x.in.number("end_ns", r.end_ns) && x.in.number("launches", r.launches) &&
         x.in.number("gpu_records", r.gpu_records) && x.in.number("gpu_ns", r.gpu_ns) &&
         x.in.number("with_stack", r.with_stack) && x.in.number("lost", r.lost);
}

template <typename T>
bool parse_as(Input& x, std::optional<Record>& out) {
  auto& record = out.emplace(std::in_place_type<T>);
  return parse(x, *std::get_if<T>(&record)) && x.in.done();
}

bool parse_kstack(Input& x, std::optional<Record>& out) {
  auto* const stack = std::get_if<Stack>(&out.emplace(std::in_place_type<Stack>));
  stack->kernel = true;
  return parse(x, *stack) && x.in.done();
}

struct Kind {
  std::string_view name;
  bool (*parse)(Input&, std::optional<Record>&);
  bool published;  // also a kind of the published form
};

// See frequent_kind() for the order of the first two.
constexpr std::array<Kind, 16> kKinds = {{
    {"GPU", parse_as<Gpu>, false},
    {"EUSTALL", parse_as<EuStall>, true},
    {"LAUNCH", parse_as<Launch>, false},
    {"STRING", parse_as<String>, true},
    {"FRAME", parse_as<Frame>, false},
    {"USTACK", parse_as<Stack>, true},
    {"KSTACK", parse_kstack, true},
    {"META", parse_as<Meta>, false},
    {"PROCESS", parse_as<Process>, false},
    {"DEVICE", parse_as<Device>, false},
    {"PROC_NAME", parse_as<ProcName>, true},
    {"GPU_FILE", parse_as<GpuFile>, true},
    {"GPU_SYMBOL", parse_as<GpuSymbol>, true},
    {"INSN_TEXT", parse_as<InsnText>, true},
    {"LOSS", parse_as<Loss>, false},
    {"END", parse_as<End>, false},
}};

// The kinds that come by the million are told by a comparison or two.
const Kind* frequent_kind(std::string_view line) {
  if (line.starts_with("GPU;")) {
    return &kKinds[0];
  }
  return line.starts_with("EUSTALL;") ? &kKinds[1] : nullptr;
}
static_assert(kKinds[0].name == "GPU" && kKinds[1].name == "EUSTALL");

const Kind* find_kind(std::string_view name) {
  const auto* const found = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.name == name; });
  return found == kKinds.end() ? nullptr : found;
}

// What a later version may call a new kind.
bool looks_like_a_kind(std::string_view text) {
  return !text.empty() && text.front() >= 'A' && text.front() <= 'Z' &&
         text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos;
}

}  // namespace

bool is_published_kind(std::string_view kind) {
  return std::any_of(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.published && k.name == kind; });
}

bool is_published_kind_prefix(std::string_view text) {
  return std::any_of(kKinds.begin(), kKinds.end(),
                     [&](const Kind& k) { return k.published && k.name.starts_with(text); });
}

std::optional<Record> parse_line(Line line, ParseContext& context) {
  const std::string_view text(line.begin, static_cast<size_t>(line.end - line.begin));
  const Kind* const kind = frequent_kind(text);
  const size_t name_size = kind != nullptr ? kind->name.size() : std::min(text.find(';'), text.size());
  const std::string_view name = text.substr(0, name_size);
  const Kind* const known = kind != nullptr ? kind : find_kind(name);
  std::optional<Record> record;
  if (known != nullptr && (known->published || !context.published)) {
    Fields fields(line.begin + name_size + 1, line.end, name_size < text.size(), !context.published);
    Input input{fields, context};
    if (!known->parse(input, record)) {
      context.reason = std::string(name).append(": ").append(fields.reason());
      record.reset();
    }
  } else if (known != nullptr || looks_like_a_kind(name)) {
    record = Unknown{name};
  } else {
    context.reason = "this is not a record: a line begins with its kind, in upper case";
  }
  return record;
}

}  // namespace gpuprof::profile
