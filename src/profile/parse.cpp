#include "profile/parse.h"

#include <algorithm>
#include <array>

#include "profile/fields.h"
#include "profile/latency_bucket.h"
#include "profile/words.h"

namespace gpuprof::profile {
namespace {

// More frames than any real stack has; keeps a hostile line's memory bounded.
constexpr size_t kMaxFrames = 65536;

// Of lines that are kept one by one, and are far longer in memory than in the file.
constexpr uint64_t kMostRemarks = 1'000'000;

struct Input {
  Fields& in;
  ParseContext& context;
};

// The value that ends a line of the published form may hold anything, ';' too.
bool value(Input& x, std::string_view field, std::string_view& out) {
  return x.context.major == 0 ? x.in.rest(field, out) : x.in.text(field, out);
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

bool count_remark(Input& x) {
  return ++x.context.remarks <= kMostRemarks || x.in.fail("there are more than 1000000 META, LOSS and COVERAGE lines");
}

bool parse(Input& x, Meta& r) {
  return count_remark(x) && x.in.text("key", r.key) && x.in.text("value", r.value);
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
  if (!known || *known == FrameKind::interpreter) {  // which has a line of its own, for readers of version 2.0
    return x.in.fail("kind", "is not a kind of frame");
  }
  const bool interpreter = *known == FrameKind::native && r.id == x.context.interpreter;
  r.kind = interpreter ? FrameKind::interpreter : *known;
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
    if (x.context.major == 0 && x.in.empty_to_end()) {  // writers of that form may end each frame with a ';'
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
  const bool common = own_id(x, r.id) && x.in.number("pid", r.pid) && x.in.number("ppid", r.ppid) &&
                      x.in.number("start_ns", r.start_ns) && x.in.id("name", r.name) && x.in.id("command", r.command);
  return common && (x.context.major == 1 || (x.in.id("rank", r.rank) && x.in.id("host", r.host)));
}

bool parse(Input& x, Device& r) {
  const bool common =
      own_id(x, r.id) && x.in.id("backend", r.backend) && x.in.number("index", r.index) && x.in.id("name", r.name);
  return common && (x.context.major == 1 || x.in.id("uuid", r.uuid));
}

bool parse(Input& x, Range& r) {
  return own_id(x, r.id) && x.in.id("parent", r.parent) && x.in.id("domain", r.domain) && x.in.id("name", r.name);
}

bool operation(Input& x, Op last, Op& out) {
  std::string_view word;
  if (!x.in.word("op", word)) {
    return false;
  }
  const auto known = op_of(word);
  if (!known || *known > last) {
    return x.in.fail("op", "is not an operation");
  }
  out = *known;
  return true;
}

bool parse(Input& x, Work& r) {
  constexpr uint32_t kAllFlags = kWorkGraphNode | kWorkUnsampled | kWorkAttached;
  if (!own_id(x, r.id) || !x.in.id("process", r.process) || !x.in.number("tid", r.tid) ||
      !x.in.id("thread", r.thread) || !x.in.id("ustack", r.ustack) || !x.in.id("kstack", r.kstack) ||
      !x.in.id("capture", r.capture) || !x.in.id("range", r.range) || !x.in.id("device", r.device) ||
      !x.in.number("stream", r.stream) || !operation(x, Op::migrate_dtoh, r.op) || !x.in.id("name", r.name) ||
      !x.in.number("flags", r.flags)) {
    return false;
  }
  return (r.flags & ~kAllFlags) == 0 || x.in.fail("flags", "is not a sum of known flags");
}

// The sum must be possible for that many values between min and max.
template <typename Sums>
bool plausible(Input& x, const Sums& r) {
  if (Uint128{r.count} * r.min_ns > r.sum_ns || r.sum_ns > Uint128{r.count} * r.max_ns) {
    return x.in.fail("field 'sum_ns' is not between count * min_ns and count * max_ns");
  }
  return true;
}

bool measures(Input& x, Gpu& r) {
  return x.in.number("count", r.count) && x.in.number("sum_ns", r.sum_ns) && x.in.number("min_ns", r.min_ns) &&
         x.in.number("max_ns", r.max_ns) && x.in.wide("sum_squares_ns2", r.sum_squares_ns2) &&
         x.in.number("queue_ns", r.queue_ns) && x.in.number("bytes", r.bytes) && plausible(x, r);
}

bool parse(Input& x, Gpu& r) {
  return x.in.number("slice", r.slice) && x.in.id("work", r.work) && measures(x, r);
}

bool parse(Input& x, Host& r) {
  const bool taken = x.in.number("slice", r.slice) && x.in.id("work", r.work) && x.in.number("count", r.count) &&
                     x.in.number("sum_ns", r.sum_ns) && x.in.number("min_ns", r.min_ns) &&
                     x.in.number("max_ns", r.max_ns) && x.in.number("bytes", r.bytes);
  if (!taken) {
    return false;
  }
  // A group of page faults has one duration, so that nothing can be said about count times it.
  const bool possible = r.min_ns <= r.max_ns && r.max_ns <= r.sum_ns;
  return possible || x.in.fail("not min_ns <= max_ns <= sum_ns");
}

bool parse(Input& x, Launch& r) {
  return x.in.number("slice", r.slice) && x.in.id("work", r.work) && x.in.number("count", r.count);
}

bool parse(Input& x, Share& r) {
  return x.in.number("slice", r.slice) && x.in.id("work", r.work) && x.in.number("busy_ns", r.busy_ns) &&
         x.in.number("exclusive_ns", r.exclusive_ns);
}

bool parse(Input& x, Idle& r) {
  return x.in.number("slice", r.slice) && x.in.id("device", r.device) && x.in.id("work", r.work) &&
         x.in.number("ns", r.ns);
}

template <typename Interval>
bool interval(Input& x, Interval& r) {
  if (!x.in.number("start_ns", r.start_ns) || !x.in.number("end_ns", r.end_ns)) {
    return false;
  }
  return r.start_ns <= r.end_ns || x.in.fail("end_ns", "is before start_ns");
}

bool parse(Input& x, Window& r) {
  return interval(x, r);
}

// The pairs to the line's end: each bucket between those of min and max, all values counted.
bool histogram(Input& x, Latency& r) {
  std::vector<Latency::Bucket>& buckets = x.context.buckets;
  buckets.clear();
  const uint32_t first = bucket_of(r.min_ns);
  const uint32_t last = bucket_of(r.max_ns);
  uint64_t left = r.count;
  while (!x.in.at_end()) {
    if (buckets.size() == kLatencyBuckets) {
      return x.in.fail("there are more than 496 buckets");
    }
    Latency::Bucket& pair = buckets.emplace_back();
    if (!x.in.number("bucket", pair.bucket) || !x.in.number("bucket's count", pair.count)) {
      return false;
    }
    if (pair.bucket < first || pair.bucket > last) {
      return x.in.fail("bucket", "does not lie between min_ns and max_ns");
    }
    if (pair.count > left) {
      return x.in.fail("the buckets hold more values than 'count'");
    }
    left -= pair.count;
  }
  r.buckets = buckets;
  return left == 0 || x.in.fail("the buckets hold fewer values than 'count'");
}

bool parse(Input& x, Latency& r) {
  std::string_view word;
  if (!x.in.id("work", r.work) || !x.in.word("phase", word)) {
    return false;
  }
  const auto known = phase_of(word);
  if (!known) {
    return x.in.fail("phase", "is not a phase of a launch");
  }
  r.phase = *known;
  return x.in.number("count", r.count) && x.in.number("sum_ns", r.sum_ns) && x.in.number("min_ns", r.min_ns) &&
         x.in.number("max_ns", r.max_ns) && plausible(x, r) && histogram(x, r);
}

bool parse(Input& x, Event& r) {
  return x.in.id("work", r.work) && x.in.number("correlation", r.correlation) && interval(x, r) &&
         x.in.number("queued_ns", r.queued_ns) && x.in.number("submitted_ns", r.submitted_ns) &&
         x.in.number("bytes", r.bytes);
}

bool parse(Input& x, Call& r) {
  return x.in.id("process", r.process) && x.in.number("tid", r.tid) && x.in.id("ustack", r.ustack) &&
         x.in.id("function", r.function) && x.in.number("correlation", r.correlation) && interval(x, r);
}

bool parse(Input& x, Span& r) {
  return x.in.id("process", r.process) && x.in.number("tid", r.tid) && x.in.id("range", r.range) && interval(x, r);
}

bool parse(Input& x, Coverage& r) {
  return count_remark(x) && x.in.id("process", r.process) && x.in.text("what", r.what) && x.in.number("count", r.count);
}

bool parse_version1(Input& x, Gpu& r) {
  Work& work = x.context.version1_work = Work{};
  return x.in.number("slice", r.slice) && x.in.id("process", work.process) && x.in.id("thread", work.thread) &&
         x.in.id("ustack", work.ustack) && x.in.id("kstack", work.kstack) && x.in.id("device", work.device) &&
         x.in.number("stream", work.stream) && operation(x, Op::other, work.op) && x.in.id("name", work.name) &&
         measures(x, r);
}

bool parse_version1(Input& x, Launch& r) {
  Work& work = x.context.version1_work = Work{.op = Op::launch};
  return x.in.number("slice", r.slice) && x.in.id("process", work.process) && x.in.id("thread", work.thread) &&
         x.in.id("ustack", work.ustack) && x.in.id("kstack", work.kstack) && x.in.id("function", work.name) &&
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
  return count_remark(x) && x.in.id("process", r.process) && x.in.text("reason", r.reason) &&
         x.in.number("count", r.count);
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

template <typename T>
bool parse_version1_as(Input& x, std::optional<Record>& out) {
  auto& record = out.emplace(std::in_place_type<T>);
  return parse_version1(x, *std::get_if<T>(&record)) && x.in.done();
}

bool parse_interpreter(Input& x, std::optional<Record>& /*none*/) {
  FrameId id{};
  if (!own_id(x, id) || !x.in.done()) {
    return false;
  }
  x.context.interpreter = id;
  return true;
}

using Parse = bool (*)(Input&, std::optional<Record>&);

struct Kind {
  std::string_view name;
  std::array<Parse, kFormatMajor + 1> parse;  // by major version; null where it is not a kind of that version
};

constexpr Kind of_all(std::string_view name, Parse parse) {
  return {name, {parse, parse, parse}};
}
constexpr Kind since_1(std::string_view name, Parse parse) {
  return {name, {nullptr, parse, parse}};
}
constexpr Kind since_2(std::string_view name, Parse parse) {
  return {name, {nullptr, nullptr, parse}};
}

// The frequent ones first.
constexpr std::array<Kind, 28> kKinds = {{
    {"GPU", {nullptr, parse_version1_as<Gpu>, parse_as<Gpu>}},
    of_all("EUSTALL", parse_as<EuStall>),
    since_2("SHARE", parse_as<Share>),
    since_2("EVENT", parse_as<Event>),
    since_2("IDLE", parse_as<Idle>),
    since_2("CALL", parse_as<Call>),
    since_2("HOST", parse_as<Host>),
    {"LAUNCH", {nullptr, parse_version1_as<Launch>, parse_as<Launch>}},
    since_2("WORK", parse_as<Work>),
    since_2("SPAN", parse_as<Span>),
    of_all("STRING", parse_as<String>),
    since_1("FRAME", parse_as<Frame>),
    since_2("INTERPRETER", parse_interpreter),
    of_all("USTACK", parse_as<Stack>),
    of_all("KSTACK", parse_kstack),
    since_2("LATENCY", parse_as<Latency>),
    since_2("RANGE", parse_as<Range>),
    since_1("META", parse_as<Meta>),
    since_1("PROCESS", parse_as<Process>),
    since_1("DEVICE", parse_as<Device>),
    since_2("WINDOW", parse_as<Window>),
    since_2("COVERAGE", parse_as<Coverage>),
    of_all("PROC_NAME", parse_as<ProcName>),
    of_all("GPU_FILE", parse_as<GpuFile>),
    of_all("GPU_SYMBOL", parse_as<GpuSymbol>),
    of_all("INSN_TEXT", parse_as<InsnText>),
    since_1("LOSS", parse_as<Loss>),
    since_1("END", parse_as<End>),
}};

// The kinds that come by the million are told by a comparison or two.
const Kind* frequent_kind(std::string_view line) {
  if (line.starts_with("GPU;")) {
    return kKinds.data();
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
  return std::any_of(kKinds.begin(), kKinds.end(),
                     [&](const Kind& k) { return k.parse[0] != nullptr && k.name == kind; });
}

bool is_published_kind_prefix(std::string_view text) {
  return std::any_of(kKinds.begin(), kKinds.end(),
                     [&](const Kind& k) { return k.parse[0] != nullptr && k.name.starts_with(text); });
}

std::optional<Record> parse_line(Line line, ParseContext& context) {
  const std::string_view text(line.begin, static_cast<size_t>(line.end - line.begin));
  const Kind* const frequent = frequent_kind(text);
  const size_t name_size = frequent != nullptr ? frequent->name.size() : std::min(text.find(';'), text.size());
  const std::string_view name = text.substr(0, name_size);
  const Kind* const kind = frequent != nullptr ? frequent : find_kind(name);
  const Parse parse = kind != nullptr ? kind->parse[static_cast<size_t>(context.major)] : nullptr;
  std::optional<Record> record;
  context.reason.clear();
  if (parse != nullptr) {
    Fields fields(line.begin + name_size + 1, line.end, name_size < text.size(), context.major != 0);
    Input input{fields, context};
    if (!parse(input, record)) {
      context.reason = std::string(name).append(": ").append(fields.reason());
      record.reset();
    }
  } else if (kind != nullptr || looks_like_a_kind(name)) {
    record = Unknown{name};
  } else {
    context.reason = "this is not a record: a line begins with its kind, in upper case";
  }
  if (parse != parse_interpreter) {
    context.interpreter = {};  // it was about this line
  }
  return record;
}

}  // namespace gpuprof::profile
