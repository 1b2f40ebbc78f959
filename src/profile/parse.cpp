#include "profile/parse.h"

#include <algorithm>
#include <array>

#include "profile/fields.h"
#include "profile/latency_bucket.h"
#include "profile/words.h"

namespace gpuprof::profile {
namespace {

// Of lines that are kept one by one, and are far longer in memory than in the file.
constexpr uint64_t kMostRemarks = 1'000'000;

struct Input {
  Fields& in;
  ParseContext& context;
};

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
  return own_id(x, r.id) && x.in.text("value", r.value);
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
  while (!x.in.at_end()) {
    if (elements.size() == kMostFrames) {
      return x.in.fail("the stack has more than 65536 frames");
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
         x.in.number("start_ns", r.start_ns) && x.in.id("name", r.name) && x.in.id("command", r.command) &&
         x.in.id("rank", r.rank) && x.in.id("host", r.host);
}

bool parse(Input& x, Device& r) {
  return own_id(x, r.id) && x.in.id("backend", r.backend) && x.in.number("index", r.index) && x.in.id("name", r.name) &&
         x.in.id("uuid", r.uuid);
}

bool parse(Input& x, Range& r) {
  return own_id(x, r.id) && x.in.id("parent", r.parent) && x.in.id("domain", r.domain) && x.in.id("name", r.name);
}

bool operation(Input& x, Op& out) {
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

bool parse(Input& x, Work& r) {
  constexpr uint32_t kAllFlags = kWorkGraphNode | kWorkUnsampled | kWorkAttached;
  if (!own_id(x, r.id) || !x.in.id("process", r.process) || !x.in.number("tid", r.tid) ||
      !x.in.id("thread", r.thread) || !x.in.id("ustack", r.ustack) || !x.in.id("kstack", r.kstack) ||
      !x.in.id("capture", r.capture) || !x.in.id("range", r.range) || !x.in.id("device", r.device) ||
      !x.in.number("stream", r.stream) || !operation(x, r.op) || !x.in.id("name", r.name) ||
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

bool parse(Input& x, Gpu& r) {
  return x.in.number("slice", r.slice) && x.in.id("work", r.work) && x.in.number("count", r.count) &&
         x.in.number("sum_ns", r.sum_ns) && x.in.number("min_ns", r.min_ns) && x.in.number("max_ns", r.max_ns) &&
         x.in.wide("sum_squares_ns2", r.sum_squares_ns2) && x.in.number("queue_ns", r.queue_ns) &&
         x.in.number("bytes", r.bytes) && plausible(x, r);
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

bool parse(Input& x, GpuModule& r) {
  return own_id(x, r.id) && x.in.id("name", r.name) && x.in.id("hash", r.hash);
}

bool parse(Input& x, GpuPlace& r) {
  std::vector<FrameId>& frames = x.context.frames;
  frames.clear();
  if (!own_id(x, r.id) || !x.in.id("module", r.module) || !x.in.id("function", r.function) ||
      !x.in.offset("offset", r.offset) || !x.in.id("instruction", r.instruction)) {
    return false;
  }
  while (!x.in.at_end()) {
    if (frames.size() == kMostPlaceFrames) {
      return x.in.fail("the place has more than 1024 frames");
    }
    if (!x.in.id("frame", frames.emplace_back())) {
      return false;
    }
  }
  r.frames = frames;
  return true;
}

bool parse(Input& x, GpuInstruction& r) {
  return x.in.id("place", r.place) && x.in.id("text", r.text) && x.in.id("waits_for", r.waits_for) &&
         x.in.id("what", r.what);
}

bool parse(Input& x, GpuCount& r) {
  return x.in.id("process", r.process) && x.in.id("device", r.device) && x.in.id("place", r.place) &&
         x.in.id("name", r.name) && x.in.number("value", r.value);
}

bool parse(Input& x, Sampling& r) {
  return own_id(x, r.id) && x.in.number("period", r.period) && x.in.id("unit", r.unit);
}

bool parse(Input& x, EuStall& r) {
  if (!x.in.number("slice", r.slice) || !x.in.id("work", r.work) || !x.in.id("place", r.place) ||
      !x.in.id("reason", r.reason) || !x.in.id("sampling", r.sampling) || !x.in.number("count", r.count) ||
      !x.in.number("flags", r.flags)) {
    return false;
  }
  return (r.flags & ~kSampleEstimated) == 0 || x.in.fail("flags", "is not a sum of known flags");
}

bool parse(Input& x, Loss& r) {
  return count_remark(x) && x.in.id("process", r.process) && x.in.text("reason", r.reason) &&
         x.in.number("count", r.count);
}

bool parse(Input& x, End& r) {
  return x.in.number("end_ns", r.end_ns) && x.in.number("launches", r.launches) &&
         x.in.number("gpu_records", r.gpu_records) && x.in.number("gpu_ns", r.gpu_ns) &&
         x.in.number("with_stack", r.with_stack) && x.in.number("samples", r.samples) && x.in.number("lost", r.lost);
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

using Parse = bool (*)(Input&, std::optional<Record>&);

struct Kind {
  std::string_view name;
  Parse parse;
};

// The frequent ones first.
constexpr std::array<Kind, 28> kKinds = {{
    {"GPU", parse_as<Gpu>},
    {"EUSTALL", parse_as<EuStall>},
    {"SHARE", parse_as<Share>},
    {"EVENT", parse_as<Event>},
    {"IDLE", parse_as<Idle>},
    {"CALL", parse_as<Call>},
    {"HOST", parse_as<Host>},
    {"LAUNCH", parse_as<Launch>},
    {"WORK", parse_as<Work>},
    {"GPU_PLACE", parse_as<GpuPlace>},
    {"GPU_INSTRUCTION", parse_as<GpuInstruction>},
    {"GPU_COUNT", parse_as<GpuCount>},
    {"SPAN", parse_as<Span>},
    {"STRING", parse_as<String>},
    {"FRAME", parse_as<Frame>},
    {"USTACK", parse_as<Stack>},
    {"KSTACK", parse_kstack},
    {"LATENCY", parse_as<Latency>},
    {"RANGE", parse_as<Range>},
    {"META", parse_as<Meta>},
    {"PROCESS", parse_as<Process>},
    {"DEVICE", parse_as<Device>},
    {"GPU_MODULE", parse_as<GpuModule>},
    {"SAMPLING", parse_as<Sampling>},
    {"WINDOW", parse_as<Window>},
    {"COVERAGE", parse_as<Coverage>},
    {"LOSS", parse_as<Loss>},
    {"END", parse_as<End>},
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

}  // namespace

bool looks_like_a_kind(std::string_view text) {
  return !text.empty() && text.front() >= 'A' && text.front() <= 'Z' &&
         text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos;
}

void parse_line(Line line, ParseContext& context, std::optional<Record>& record) {
  const std::string_view text(line.begin, static_cast<size_t>(line.end - line.begin));
  const Kind* const frequent = frequent_kind(text);
  const size_t name_size = frequent != nullptr ? frequent->name.size() : std::min(text.find(';'), text.size());
  const std::string_view name = text.substr(0, name_size);
  const Kind* const kind = frequent != nullptr ? frequent : find_kind(name);
  record.reset();
  if (kind == nullptr) {
    if (looks_like_a_kind(name)) {
      record = Unknown{name};
    } else {
      context.reason = kNoRecord;
    }
    return;
  }
  Fields fields(line.begin + name_size + 1, line.end, name_size < text.size(), true);
  Input input{fields, context};
  if (!kind->parse(input, record)) {
    context.reason = std::string(name).append(": ").append(fields.reason());
    record.reset();
  }
}

}  // namespace gpuprof::profile
