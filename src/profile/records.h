// The records of a profile, one struct a line kind. FORMAT.md beside this file is the specification; writer.h
// and reader.h are the only code that formats or parses them.
//
// Times and durations are nanoseconds, sizes are bytes, ids are per profile and 0 means "none" everywhere.
// string_views and spans that a Reader hands out are valid until its next call.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace gpuprof::profile {

inline constexpr int kFormatMajor = 3;  // the first one that must stay readable: none was released before
inline constexpr int kFormatMinor = 2;

// Typed indices: a stack id can not be passed where a string id is meant.
enum class StringId : uint32_t {};
enum class FrameId : uint32_t {};
enum class StackId : uint32_t {};  // USTACK and KSTACK count separately
enum class ProcessId : uint32_t {};
enum class DeviceId : uint32_t {};
enum class RangeId : uint32_t {};
enum class WorkId : uint32_t {};
enum class GpuModuleId : uint32_t {};
enum class GpuPlaceId : uint32_t {};
enum class SamplingId : uint32_t {};

template <typename Id>
constexpr uint32_t index(Id id) {
  return static_cast<uint32_t>(id);
}

__extension__ typedef unsigned __int128 Uint128;  // NOLINT(modernize-use-using): __extension__ needs a typedef

struct Meta {  // about the whole profile; a repeated key means a list
  std::string_view key;
  std::string_view value;
};

struct String {
  StringId id{};
  std::string_view value;
};

enum class FrameKind : uint8_t {
  native,       // user-space machine code
  inlined,      // inlined into the frame before it (root first)
  kernel,       // kernel space
  python,       // a Python function; `name` is qualified where the interpreter knows that
  interpreter,  // machine code of the Python interpreter itself, in a stack that has Python frames
  gpu,          // a function in GPU code; `module` is the GPU module's name, `build_id` its hash
  unknown,      // an address that no mapping explains; the name says what is known
  truncated,    // the stack goes on towards the root, but could not be followed
};

struct Frame {
  FrameId id{};
  FrameKind kind = FrameKind::native;
  StringId name{};       // demangled function, or "[libfoo.so+0x12ab]" where there is no symbol
  StringId file{};       // source file
  uint32_t line = 0;     // 0: not known
  StringId module{};     // path of the mapped file
  StringId build_id{};   // lower-case hex
  uint64_t address = 0;  // offset in the module as its ELF file counts (vaddr), for annotate and re-symbolizing
};

// One element of a USTACK or KSTACK: an address where is_address, a text where that is not empty, else a frame.
struct StackElement {
  FrameId frame{};  // never in the published form
  uint64_t address = 0;
  std::string_view text;
  bool is_address = false;
};

struct Stack {
  bool kernel = false;  // KSTACK instead of USTACK
  StackId id{};
  std::span<const StackElement> elements;  // root first
};

struct Process {  // one process image: an exec makes a new one
  ProcessId id{};
  uint32_t pid = 0;
  uint32_t ppid = 0;
  uint64_t start_ns = 0;  // CLOCK_MONOTONIC, when first seen
  StringId name{};        // comm
  StringId command{};     // command line, arguments separated by a space
  StringId rank{};        // of an MPI, SLURM or torchrun job, as its launcher's variables say
  StringId host{};        // where it ran; 0: the host of META
};

struct Device {
  DeviceId id{};
  StringId backend{};
  uint32_t index = 0;  // as the vendor counts, in the first process that named it
  StringId name{};
  StringId uuid{};  // tells devices apart that several processes each call number 0
};

// A path of NVTX ranges: a range inside of its parent.
struct Range {
  RangeId id{};
  RangeId parent{};
  StringId domain{};  // 0: the default domain
  StringId name{};
};

enum class Op : uint8_t {
  kernel,
  copy_htod,
  copy_dtoh,
  copy_dtod,
  copy_htoh,
  copy_ptop,
  copy,
  fill,
  other,
  graph,   // a whole graph launch, where its nodes were not recorded one by one
  launch,  // of LAUNCH records: `name` is the function
  // Of HOST records: not GPU work.
  sync,
  alloc,
  free,
  fault_gpu,
  fault_cpu,
  migrate_htod,
  migrate_dtoh,
};

// Who did what, from where: what records of measurements refer to, interned.
struct Work {
  WorkId id{};
  ProcessId process{};
  uint32_t tid = 0;   // of the launching thread; 0: not known
  StringId thread{};  // its name
  StackId ustack{};
  StackId kstack{};
  StackId capture{};  // USTACK: where the node of a graph was captured or added
  RangeId range{};    // NVTX ranges around the launch
  DeviceId device{};
  uint64_t stream = 0;
  Op op = Op::kernel;
  StringId name{};  // kernel, demangled; a function of LAUNCH and HOST records; 0 for copies and fills
  uint32_t flags = 0;
};
inline constexpr uint32_t kWorkGraphNode = 1;  // a node of a graph launch
inline constexpr uint32_t kWorkUnsampled = 2;  // launches that got no stack because of --max-overhead
inline constexpr uint32_t kWorkAttached = 4;   // a process that was attached to: a node may be older than the recording

// Of its launch; that of a graph's capture does not count.
constexpr bool has_stack(const Work& work) {
  return index(work.ustack) != 0 || index(work.kstack) != 0;
}

// There is no stack by choice.
constexpr bool is_unsampled(const Work& work) {
  return !has_stack(work) && (work.flags & kWorkUnsampled) != 0;
}

// GPU work of one slice, added up. Several lines with the same key add up.
struct Gpu {
  uint64_t slice = 0;  // index: the work's end lies in [slice, slice + 1) * META interval_ns after META start_ns
  WorkId work{};
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  Uint128 sum_squares_ns2 = 0;
  uint64_t queue_ns = 0;  // sum of start - queued, where both are known
  uint64_t bytes = 0;
};

// What is not GPU work: waits of the CPU, allocations, page faults. Not part of END's sums.
struct Host {
  uint64_t slice = 0;
  WorkId work{};
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t bytes = 0;
};

// Launches seen without GPU times (record -p by uprobe): counts only.
struct Launch {
  uint64_t slice = 0;
  WorkId work{};
  uint64_t count = 0;
};

// How work shares its device's time: each nanosecond in which a device was busy is counted once in the sum of busy_ns
// (for the work that had started first) and once in that of exclusive_ns (shared between all that ran).
struct Share {
  uint64_t slice = 0;
  WorkId work{};
  uint64_t busy_ns = 0;
  uint64_t exclusive_ns = 0;
};

// Time in which a device had no work, charged to what ended it (the next launch) or to the blocking call meanwhile.
struct Idle {
  uint64_t slice = 0;
  DeviceId device{};
  WorkId work{};  // 0: no launch came any more
  uint64_t ns = 0;
};

// busy + idle of each device that had work is the sum of the windows.
struct Window {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

enum class Phase : uint8_t {
  call_to_queued,
  queued_to_submitted,
  submitted_to_start,
  call_to_start,
};

// A histogram: values v with bucket b = latency_bucket(v), see FORMAT.md. Several lines with the same key add up.
struct Latency {
  struct Bucket {
    uint32_t bucket = 0;
    uint64_t count = 0;
  };
  WorkId work{};
  Phase phase = Phase::call_to_queued;
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  std::span<const Bucket> buckets;
};

// Of --timeline: one piece of GPU or host work.
struct Event {
  WorkId work{};
  uint64_t correlation = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t queued_ns = 0;     // 0: not known
  uint64_t submitted_ns = 0;  // 0: not known
  uint64_t bytes = 0;
};

// Of --timeline: one API call that put work on a GPU.
struct Call {
  ProcessId process{};
  uint32_t tid = 0;
  StackId ustack{};
  StringId function{};
  uint64_t correlation = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

// Of --timeline: one NVTX range.
struct Span {
  ProcessId process{};
  uint32_t tid = 0;  // 0: a start/end range
  RangeId range{};
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

// The trust footer: what was seen, matched and missed. Counts for the same word add up.
struct Coverage {
  ProcessId process{};    // 0: of the whole recording
  std::string_view what;  // a word of FORMAT.md's table
  uint64_t count = 0;
};

struct GpuModule {  // GPU code that was loaded: a cubin, a zebin
  GpuModuleId id{};
  StringId name{};
  StringId hash{};  // lower-case hex
};

// A place in GPU code.
struct GpuPlace {
  GpuPlaceId id{};
  GpuModuleId module{};
  StringId function{};
  uint64_t offset = 0;  // of the instruction in the function
  StringId instruction{};
  std::span<const FrameId>
      frames;  // its source lines: the outermost function first, inlined ones after it; may be none
};

// What was found out of a place after it had been told of: the text of its instruction, and the place that makes what
// it waits for.
struct GpuInstruction {
  GpuPlaceId place{};
  StringId text{};         // 0: not known
  GpuPlaceId waits_for{};  // 0: not known
  StringId what{};         // what that one does: "load"
};

// What the hardware counted at a place: not GPU time, and of no launch. Several lines with the same key add up.
struct GpuCount {
  ProcessId process{};
  DeviceId device{};
  GpuPlaceId place{};
  StringId name{};  // the vendor's, of what was counted
  uint64_t value = 0;
};

struct Sampling {  // how often samples were taken
  SamplingId id{};
  uint64_t period = 0;
  StringId unit{};  // "cycles" or "ns"
};

// Samples of GPU code: what the hardware was found to wait for, at one place, while that work ran.
struct EuStall {
  uint64_t slice = 0;
  WorkId work{};  // its op is one of the GPU's
  GpuPlaceId place{};
  StringId reason{};
  SamplingId sampling{};
  uint64_t count = 0;
  uint32_t flags = 0;
};
inline constexpr uint32_t kSampleEstimated = 1;  // whose samples they are was estimated, and not observed

struct Loss {               // something that is missing from the profile, counted
  ProcessId process{};      // 0: not of one process
  std::string_view reason;  // a word of FORMAT.md's table
  uint64_t count = 0;
};

struct End {                 // the last line of a whole profile
  uint64_t end_ns = 0;       // CLOCK_MONOTONIC
  uint64_t launches = 0;     // API calls that put work on a GPU
  uint64_t gpu_records = 0;  // valid GPU records, = sum of Gpu.count
  uint64_t gpu_ns = 0;       // = sum of Gpu.sum_ns
  uint64_t with_stack = 0;   // GPU records whose launch has a CPU stack
  uint64_t samples = 0;      // = sum of EuStall.count
  uint64_t lost = 0;         // = sum of Loss.count
};

struct Unknown {  // a kind that this version does not know; skipped and counted by readers
  std::string_view kind;
};

using Record = std::variant<Meta, String, Frame, Stack, Process, Device, Range, Work, Gpu, Host, Launch, Share, Idle,
                            Window, Latency, Event, Call, Span, Coverage, GpuModule, GpuPlace, GpuInstruction, GpuCount,
                            Sampling, EuStall, Loss, End, Unknown>;

}  // namespace gpuprof::profile
