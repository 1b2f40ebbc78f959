// Lists the fields of every record, in their order in the line. The code that parses, writes, checks, compares and
// translates records uses these lists, so a new field needs an entry only here.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

#include "profile/records.h"

namespace gpuprof::profile {

// Each kind of definition has ids of its own.
enum IdSpace : uint8_t {
  kStringIds,
  kFrameIds,
  kUstackIds,
  kKstackIds,
  kProcessIds,
  kDeviceIds,
  kRangeIds,
  kWorkIds,
  kGpuModuleIds,
  kGpuPlaceIds,
  kSamplingIds,
  kIdSpaces
};

// What the type of a field does not say about the field.
enum class Form : uint8_t {
  by_type,
  own_id,        // the id that this definition assigns, which is never 0
  kernel_stack,  // the id of a KSTACK; without this, a StackId refers to a USTACK
  hexadecimal,
  one_if_missing,  // the last field of a line, left out if it is 1
};

template <typename R, typename T, Form kFormOf>
struct Field {
  static constexpr Form kForm = kFormOf;
  std::string_view name;
  T R::*member;
};

// Returns whether the writer leaves out the field because of its value.
template <typename F, typename T>
constexpr bool is_left_out(const T& value) {
  if constexpr (F::kForm == Form::one_if_missing) {
    return value == 1;
  }
  return false;
}

template <typename... Fields>
struct Layout {
  std::string_view kind;  // the word with which the line begins
  std::tuple<Fields...> fields;
};

template <Form kForm = Form::by_type, typename R, typename T>
constexpr Field<R, T, kForm> field(std::string_view name, T R::*member) {
  return {name, member};
}
template <typename R, typename T>
constexpr Field<R, T, Form::own_id> own_id(T R::*member) {
  return {"id", member};
}
template <typename... Fields>
constexpr Layout<Fields...> layout(std::string_view kind, Fields... fields) {
  return {kind, {fields...}};
}

template <typename R>
inline constexpr auto kLayout = layout("");
template <>
inline constexpr auto kLayout<Meta> = layout("META", field("key", &Meta::key), field("value", &Meta::value));
template <>
inline constexpr auto kLayout<String> = layout("STRING", own_id(&String::id), field("value", &String::value));
template <>
inline constexpr auto kLayout<Frame> = layout("FRAME", own_id(&Frame::id), field("kind", &Frame::kind),
                                              field("name", &Frame::name), field("file", &Frame::file),
                                              field("line", &Frame::line), field("module", &Frame::module),
                                              field("build_id", &Frame::build_id),
                                              field<Form::hexadecimal>("address", &Frame::address));
// A kernel stack has the same fields. kind_of() returns KSTACK for it.
template <>
inline constexpr auto kLayout<Stack> = layout("USTACK", own_id(&Stack::id), field("frame", &Stack::elements));
template <>
inline constexpr auto kLayout<Process> = layout("PROCESS", own_id(&Process::id), field("pid", &Process::pid),
                                                field("ppid", &Process::ppid), field("start_ns", &Process::start_ns),
                                                field("name", &Process::name), field("command", &Process::command),
                                                field("rank", &Process::rank), field("host", &Process::host));
template <>
inline constexpr auto kLayout<Device> = layout("DEVICE", own_id(&Device::id), field("backend", &Device::backend),
                                               field("index", &Device::index), field("name", &Device::name),
                                               field("uuid", &Device::uuid));
template <>
inline constexpr auto kLayout<Range> = layout("RANGE", own_id(&Range::id), field("parent", &Range::parent),
                                              field("domain", &Range::domain), field("name", &Range::name));
template <>
inline constexpr auto kLayout<Work> = layout(
    "WORK", own_id(&Work::id), field("process", &Work::process), field("tid", &Work::tid),
    field("thread", &Work::thread), field("ustack", &Work::ustack), field<Form::kernel_stack>("kstack", &Work::kstack),
    field("capture", &Work::capture), field("range", &Work::range), field("device", &Work::device),
    field("stream", &Work::stream), field("op", &Work::op), field("name", &Work::name), field("flags", &Work::flags));
template <>
inline constexpr auto kLayout<Gpu> = layout("GPU", field("slice", &Gpu::slice), field("work", &Gpu::work),
                                            field("count", &Gpu::count), field("sum_ns", &Gpu::sum_ns),
                                            field("min_ns", &Gpu::min_ns), field("max_ns", &Gpu::max_ns),
                                            field("sum_squares_ns2", &Gpu::sum_squares_ns2),
                                            field("queue_ns", &Gpu::queue_ns), field("bytes", &Gpu::bytes));
template <>
inline constexpr auto kLayout<Host> = layout("HOST", field("slice", &Host::slice), field("work", &Host::work),
                                             field("count", &Host::count), field("sum_ns", &Host::sum_ns),
                                             field("min_ns", &Host::min_ns), field("max_ns", &Host::max_ns),
                                             field("bytes", &Host::bytes));
template <>
inline constexpr auto kLayout<Launch> = layout("LAUNCH", field("slice", &Launch::slice), field("work", &Launch::work),
                                               field("count", &Launch::count));
template <>
inline constexpr auto kLayout<Share> = layout("SHARE", field("slice", &Share::slice), field("work", &Share::work),
                                              field("busy_ns", &Share::busy_ns),
                                              field("exclusive_ns", &Share::exclusive_ns));
template <>
inline constexpr auto kLayout<Idle> = layout("IDLE", field("slice", &Idle::slice), field("device", &Idle::device),
                                             field("work", &Idle::work), field("ns", &Idle::ns));
template <>
inline constexpr auto kLayout<Window> = layout("WINDOW", field("start_ns", &Window::start_ns),
                                               field("end_ns", &Window::end_ns),
                                               field<Form::one_if_missing>("weight", &Window::weight));
template <>
inline constexpr auto kLayout<Latency> = layout("LATENCY", field("work", &Latency::work),
                                                field("phase", &Latency::phase), field("count", &Latency::count),
                                                field("sum_ns", &Latency::sum_ns), field("min_ns", &Latency::min_ns),
                                                field("max_ns", &Latency::max_ns), field("bucket", &Latency::buckets));
template <>
inline constexpr auto kLayout<Duration> = layout("DURATION", field("slice", &Duration::slice),
                                                 field("work", &Duration::work), field("bucket", &Duration::buckets));
template <>
inline constexpr auto kLayout<Blocks> =
    layout("BLOCKS", field("slice", &Blocks::slice), field("work", &Blocks::work), field("launches", &Blocks::launches),
           field("grid", &Blocks::grid), field("blocks", &Blocks::blocks), field("span_ns", &Blocks::span_ns),
           field("sum_ns", &Blocks::sum_ns), field("busy_ns", &Blocks::busy_ns), field("sm_ns", &Blocks::sm_ns),
           field("busiest_ns", &Blocks::busiest_ns), field("mean_ns", &Blocks::mean_ns),
           field("tail_ns", &Blocks::tail_ns), field("tail_busy_ns", &Blocks::tail_busy_ns),
           field("tail_sm_ns", &Blocks::tail_sm_ns), field("saved_ns", &Blocks::saved_ns),
           field("concurrent", &Blocks::concurrent), field("device_sms", &Blocks::device_sms),
           field("slowest_ns", &Blocks::slowest_ns), field("x", &Blocks::x), field("y", &Blocks::y),
           field("z", &Blocks::z), field("correlation", &Blocks::correlation), field("bucket", &Blocks::buckets));
template <>
inline constexpr auto kLayout<Event> = layout("EVENT", field("work", &Event::work),
                                              field("correlation", &Event::correlation),
                                              field("start_ns", &Event::start_ns), field("end_ns", &Event::end_ns),
                                              field("queued_ns", &Event::queued_ns),
                                              field("submitted_ns", &Event::submitted_ns),
                                              field("bytes", &Event::bytes));
template <>
inline constexpr auto kLayout<Call> = layout("CALL", field("process", &Call::process), field("tid", &Call::tid),
                                             field("ustack", &Call::ustack), field("function", &Call::function),
                                             field("correlation", &Call::correlation),
                                             field("start_ns", &Call::start_ns), field("end_ns", &Call::end_ns));
template <>
inline constexpr auto kLayout<Span> = layout("SPAN", field("process", &Span::process), field("tid", &Span::tid),
                                             field("range", &Span::range), field("start_ns", &Span::start_ns),
                                             field("end_ns", &Span::end_ns));
template <>
inline constexpr auto kLayout<Coverage> = layout("COVERAGE", field("process", &Coverage::process),
                                                 field("what", &Coverage::what), field("count", &Coverage::count));
template <>
inline constexpr auto kLayout<Weighted> = layout("WEIGHTED", field("slice", &Weighted::slice),
                                                 field("process", &Weighted::process),
                                                 field("count", &Weighted::count));
template <>
inline constexpr auto kLayout<GpuModule> = layout("GPU_MODULE", own_id(&GpuModule::id), field("name", &GpuModule::name),
                                                  field("hash", &GpuModule::hash));
template <>
inline constexpr auto kLayout<GpuPlace> = layout("GPU_PLACE", own_id(&GpuPlace::id), field("module", &GpuPlace::module),
                                                 field("function", &GpuPlace::function),
                                                 field<Form::hexadecimal>("offset", &GpuPlace::offset),
                                                 field("instruction", &GpuPlace::instruction),
                                                 field("frame", &GpuPlace::frames));
template <>
inline constexpr auto kLayout<GpuInstruction> = layout("GPU_INSTRUCTION", field("place", &GpuInstruction::place),
                                                       field("text", &GpuInstruction::text),
                                                       field("waits_for", &GpuInstruction::waits_for),
                                                       field("what", &GpuInstruction::what));
template <>
inline constexpr auto kLayout<GpuCount> = layout("GPU_COUNT", field("process", &GpuCount::process),
                                                 field("device", &GpuCount::device), field("place", &GpuCount::place),
                                                 field("name", &GpuCount::name), field("value", &GpuCount::value));
template <>
inline constexpr auto kLayout<Sampling> = layout("SAMPLING", own_id(&Sampling::id), field("period", &Sampling::period),
                                                 field("unit", &Sampling::unit));
template <>
inline constexpr auto kLayout<EuStall> = layout("EUSTALL", field("slice", &EuStall::slice),
                                                field("work", &EuStall::work), field("place", &EuStall::place),
                                                field("reason", &EuStall::reason),
                                                field("sampling", &EuStall::sampling), field("count", &EuStall::count),
                                                field("flags", &EuStall::flags));
template <>
inline constexpr auto kLayout<Loss> = layout("LOSS", field("process", &Loss::process), field("reason", &Loss::reason),
                                             field("count", &Loss::count));
template <>
inline constexpr auto kLayout<End> = layout("END", field("end_ns", &End::end_ns), field("launches", &End::launches),
                                            field("gpu_records", &End::gpu_records), field("gpu_ns", &End::gpu_ns),
                                            field("with_stack", &End::with_stack), field("samples", &End::samples),
                                            field("lost", &End::lost));

// Returns the kind of a record, which is the word with which its line begins.
template <typename R>
constexpr std::string_view kind_of(const R& record) {
  if constexpr (std::is_same_v<R, Stack>) {
    return record.kernel ? "KSTACK" : "USTACK";
  }
  return kLayout<R>.kind;
}

inline std::string_view kind_of(const Record& record) {
  return std::visit([](const auto& r) { return kind_of(r); }, record);
}

// Calls visit(field, member) for each field, until a call returns false. Returns whether all calls returned true. R
// may be const.
template <typename R, typename Visit>
[[gnu::always_inline]] constexpr bool for_each_field(R& record, Visit&& visit) {
  return std::apply([&](const auto&... field) { return (visit(field, record.*field.member) && ...); },
                    kLayout<std::remove_const_t<R>>.fields);
}

template <typename T>
inline constexpr IdSpace kSpaceOf = kIdSpaces;  // the value for a type T that is not an id
template <>
inline constexpr IdSpace kSpaceOf<StringId> = kStringIds;
template <>
inline constexpr IdSpace kSpaceOf<FrameId> = kFrameIds;
template <>
inline constexpr IdSpace kSpaceOf<StackId> = kUstackIds;
template <>
inline constexpr IdSpace kSpaceOf<ProcessId> = kProcessIds;
template <>
inline constexpr IdSpace kSpaceOf<DeviceId> = kDeviceIds;
template <>
inline constexpr IdSpace kSpaceOf<RangeId> = kRangeIds;
template <>
inline constexpr IdSpace kSpaceOf<WorkId> = kWorkIds;
template <>
inline constexpr IdSpace kSpaceOf<GpuModuleId> = kGpuModuleIds;
template <>
inline constexpr IdSpace kSpaceOf<GpuPlaceId> = kGpuPlaceIds;
template <>
inline constexpr IdSpace kSpaceOf<SamplingId> = kSamplingIds;

template <typename T>
concept AnyId = kSpaceOf<T>
!= kIdSpaces;

template <typename R>
requires AnyId<decltype(R::id)>
constexpr IdSpace own_space(const R& record) {
  if constexpr (std::is_same_v<R, Stack>) {
    return record.kernel ? kKstackIds : kUstackIds;
  }
  return kSpaceOf<decltype(R::id)>;
}

// Returns the kind of the lines that define the ids of this space.
constexpr std::string_view word(IdSpace space) {
  constexpr std::array<std::string_view, kIdSpaces> kSpaceWords = {"STRING",     "FRAME",     "USTACK",  "KSTACK",
                                                                   "PROCESS",    "DEVICE",    "RANGE",   "WORK",
                                                                   "GPU_MODULE", "GPU_PLACE", "SAMPLING"};
  return kSpaceWords[space];
}

// Calls visit(space, id) for each id that refers to a definition, until a call returns false. Returns whether all
// calls returned true. Skips the id that a definition assigns, and the frames of a stack or GPU_PLACE.
template <typename R, typename Visit>
[[gnu::always_inline]] constexpr bool for_each_id(R& record, Visit&& visit) {
  return for_each_field(record, [&]<typename F, typename T>(const F& /*field*/, T& value) {
    using Value = std::remove_const_t<T>;
    if constexpr (AnyId<Value> && F::kForm != Form::own_id) {
      return visit(F::kForm == Form::kernel_stack ? kKstackIds : kSpaceOf<Value>, value);
    } else {
      return true;
    }
  });
}

// True for records that define an id. A subset of a profile contains a definition only if its other records refer to
// the id.
template <typename R>
inline constexpr bool kIsDefinition = requires(R r) {
  own_space(r);
};
template <typename R>
inline constexpr bool kNamesWork = requires(R r) {
  requires AnyId<decltype(r.work)>;
};
template <typename R>
inline constexpr bool kNamesProcess = requires(R r) {
  requires AnyId<decltype(r.process)>;
};
template <typename R>
inline constexpr bool kIsRow =
    !kIsDefinition<R> && !std::is_same_v<R, GpuInstruction> && (kNamesWork<R> || kNamesProcess<R>);

}  // namespace gpuprof::profile
