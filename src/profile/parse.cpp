#include "profile/parse.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "profile/fields.h"
#include "profile/keywords.h"
#include "profile/log_buckets.h"
#include "profile/record_fields.h"

namespace gpuprof::profile {
namespace {

// Limit of the META, LOSS and COVERAGE lines. Readers store all of them, in far more memory than the lines take in
// the file.
constexpr uint64_t kMostRemarks = 1'000'000;

struct Input {
  Fields& in;
  ParseContext& context;
};

// Parses one field as its type requires. `name` is for messages.
template <typename Number>
requires std::unsigned_integral<Number> || AnyId<Number>
[[gnu::always_inline]] inline bool take(Input& x, std::string_view name, Number& out) {
  return x.in.number(name, out);
}
bool take(Input& x, std::string_view name, Uint128& out) {
  return x.in.wide(name, out);
}
bool take(Input& x, std::string_view name, std::string_view& out) {
  return x.in.text(name, out);
}

template <typename Enum>
bool take_word(Input& x, std::string_view name, std::optional<Enum> (*find)(std::string_view), const char* unknown,
               Enum& out) {
  std::string_view text;
  if (!x.in.word(name, text)) {
    return false;
  }
  const std::optional<Enum> known = find(text);
  if (!known) {
    return x.in.fail(name, unknown);
  }
  out = *known;
  return true;
}
bool take(Input& x, std::string_view name, FrameKind& out) {
  return take_word(x, name, frame_kind_of, "is not a kind of frame", out);
}
bool take(Input& x, std::string_view name, Op& out) {
  return take_word(x, name, op_of, "is not an operation", out);
}
bool take(Input& x, std::string_view name, Phase& out) {
  return take_word(x, name, phase_of, "is not a phase of a launch", out);
}

// Parses the rest of the line as elements of `list`, and makes `out` point to them. The next line reuses `list`.
template <typename T, typename TakeOne>
bool take_list(Input& x, size_t most, const char* too_many, const TakeOne& take_one, std::vector<T>& list,
               std::span<const T>& out) {
  size_t size = 0;
  for (; !x.in.at_end(); ++size) {
    if (size == most) {
      return x.in.fail(too_many);
    }
    if (size == list.size()) {
      list.emplace_back();
    }
    list[size] = T();
    if (!take_one(list[size])) {
      return false;
    }
  }
  out = std::span(list).first(size);
  return true;
}
bool take(Input& x, std::string_view /*name*/, std::span<const StackElement>& out) {
  return take_list(
      x, kMostFrames, "the stack has more than 65536 frames", [&](StackElement& frame) { return x.in.element(frame); },
      x.context.elements, out);
}
bool take(Input& x, std::string_view name, std::span<const FrameId>& out) {
  return take_list(
      x, kMostPlaceFrames, "the code location has more than 1024 frames",
      [&](FrameId& frame) { return x.in.number(name, frame); }, x.context.frames, out);
}
template <typename Buckets>
bool take(Input& x, std::string_view name, std::span<const BucketCount<Buckets>>& out) {
  return take_list(
      x, Buckets::kCount, "there are more buckets than exist",
      [&](BucketCount<Buckets>& pair) {
        return x.in.number(name, pair.bucket) && x.in.number("bucket's count", pair.count);
      },
      std::get<std::vector<BucketCount<Buckets>>>(x.context.buckets), out);
}

template <typename R>
bool check(Input& x, const R& r) {
  if constexpr (std::is_same_v<R, Meta> || std::is_same_v<R, Coverage> || std::is_same_v<R, Loss>) {
    return ++x.context.remarks <= kMostRemarks ||
           x.in.fail("there are more than 1000000 META, LOSS and COVERAGE lines");
  } else if constexpr (requires { r.start_ns <= r.end_ns; }) {
    return r.start_ns <= r.end_ns || x.in.fail("end_ns", "is before start_ns");
  }
  return true;
}

bool check_flags(Input& x, uint32_t flags, uint32_t known) {
  return (flags & ~known) == 0 || x.in.fail("flags", "is not a sum of known flags");
}
bool check(Input& x, const Work& r) {
  return check_flags(x, r.flags, kWorkGraphNode | kWorkUnsampled | kWorkAttached);
}
bool check(Input& x, const EuStall& r) {
  return check_flags(x, r.flags, kSampleEstimated);
}

template <typename Sums>
bool check_sums(Input& x, const Sums& r) {
  return is_plausible(r) || x.in.fail("field 'sum_ns' is not between count * min_ns and count * max_ns");
}
bool check(Input& x, const Gpu& r) {
  return check_sums(x, r);
}
bool check(Input& x, const Host& r) {
  // A group of page faults has one duration, so count * min_ns means nothing.
  const bool possible = r.min_ns <= r.max_ns && r.max_ns <= r.sum_ns;
  return possible || x.in.fail("min_ns <= max_ns <= sum_ns does not hold");
}

// Checks that each bucket is between those of min_ns and max_ns, and that the buckets together hold all values.
bool check(Input& x, const Latency& r) {
  if (!check_sums(x, r)) {
    return false;
  }
  const uint32_t first = LatencyBuckets::of(r.min_ns);
  const uint32_t last = LatencyBuckets::of(r.max_ns);
  uint64_t left = r.count;
  for (const Latency::Bucket& pair : r.buckets) {
    if (pair.bucket < first || pair.bucket > last) {
      return x.in.fail("bucket", "does not lie between min_ns and max_ns");
    }
    if (pair.count > left) {
      return x.in.fail("the buckets hold more values than 'count'");
    }
    left -= pair.count;
  }
  return left == 0 || x.in.fail("the buckets hold fewer values than 'count'");
}

bool check_durations(Input& x, std::span<const Duration::Bucket> buckets) {
  uint64_t least = 0;  // the least possible number of the next bucket
  for (const Duration::Bucket& pair : buckets) {
    if (pair.bucket < least || pair.bucket >= DurationBuckets::kCount || pair.count == 0) {
      return x.in.fail("bucket", "is out of order, does not exist or is empty");
    }
    least = uint64_t{pair.bucket} + 1;
  }
  return true;
}
bool check(Input& x, const Duration& r) {
  return check_durations(x, r.buckets);
}

bool check(Input& x, const Blocks& r) {
  if (!check_durations(x, r.buckets)) {
    return false;
  }
  uint64_t left = r.blocks;
  for (const Duration::Bucket& pair : r.buckets) {
    if (pair.count > left) {
      return x.in.fail("the buckets hold more values than 'blocks'");
    }
    left -= pair.count;
  }
  const bool possible = r.launches > 0 && r.blocks <= r.grid && r.concurrent <= r.blocks && r.slowest_ns <= r.span_ns &&
                        r.mean_ns <= r.busiest_ns && r.busiest_ns <= r.span_ns && r.tail_ns <= r.span_ns &&
                        r.saved_ns <= r.tail_ns && r.busy_ns <= r.sm_ns && r.busy_ns <= r.sum_ns &&
                        r.tail_busy_ns <= r.busy_ns && r.tail_busy_ns <= r.tail_sm_ns && r.tail_sm_ns <= r.sm_ns;
  return possible || x.in.fail("the numbers contradict each other");
}

using Parse = bool (*)(Input&, std::optional<Record>&);

struct Kind {
  std::string_view name;
  Parse parse;
};

template <typename R>
bool parse_as(Input& x, std::optional<Record>& out) {
  R& record = *std::get_if<R>(&out.emplace(std::in_place_type<R>));
  const bool taken = for_each_field(record, [&]<typename F>(const F& field, auto& value) {
    if constexpr (F::kForm == Form::hexadecimal) {
      return x.in.offset(field.name, value);
    } else if constexpr (F::kForm == Form::own_id) {
      return take(x, field.name, value) && (index(value) != 0 || x.in.fail(field.name, "is 0, but ids begin at 1"));
    } else if constexpr (F::kForm == Form::one_if_missing) {
      return x.in.at_end() || (take(x, field.name, value) && (value != 0 || x.in.fail(field.name, "is 0")));
    } else {
      return take(x, field.name, value);
    }
  });
  return taken && check(x, record) && x.in.done();
}

bool parse_kstack(Input& x, std::optional<Record>& out) {
  const bool parsed = parse_as<Stack>(x, out);
  std::get_if<Stack>(&*out)->kernel = true;
  return parsed;
}

template <typename... Rs>
constexpr std::array<Kind, sizeof...(Rs) + 1> kinds() {
  return {Kind{kLayout<Rs>.kind, parse_as<Rs>}..., Kind{"KSTACK", parse_kstack}};
}

// Frequent kinds come first, because find_kind() compares a line with one kind after the other.
constexpr auto kKinds = kinds<Gpu, EuStall, Share, Duration, Blocks, Event, Idle, Call, Host, Launch, Work, GpuPlace,
                              GpuInstruction, GpuCount, Span, String, Frame, Stack, Latency, Range, Meta, Process,
                              Device, GpuModule, Sampling, Window, Coverage, Weighted, Loss, End>();
// Stack has two kinds, Unknown has none, and each other type has one.
static_assert(kKinds.size() == std::variant_size_v<Record>);

// Returns the kind of a GPU or EUSTALL line, else nullptr. This is faster than find_kind(), and a profile may have
// millions of such lines.
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
