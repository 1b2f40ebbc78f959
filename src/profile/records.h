// The records of a profile, one struct per line kind. See FORMAT.md. Only writer.h and reader.h format and parse them.
//
// Times and durations are nanoseconds, sizes are bytes. Ids belong to one profile, and 0 means "missing" everywhere.
// string_views and spans from a Reader are valid until its next call.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace gpuprof::profile {

inline constexpr int kFormatMajor = 3;  // the oldest version that readers must support; no earlier one was released
inline constexpr int kFormatMinor = 3;

// Typed indices: the compiler rejects a stack id where a string id is meant.
enum class StringId : uint32_t {};
enum class FrameId : uint32_t {};
enum class StackId : uint32_t {};  // USTACK and KSTACK have separate id spaces
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

struct Meta {  // describes the complete profile; a repeated key makes a list
  std::string_view key;
  std::string_view value;
};

struct String {
  StringId id{};
  std::string_view value;
};

enum class FrameKind : uint8_t {
  native,       // user-space machine code
  inlined,      // inlined into the frame before it (stacks are outermost first)
  kernel,       // kernel space
  python,       // a Python function; `name` is qualified if the interpreter knows the qualified name
  interpreter,  // machine code of the Python interpreter itself, in a stack that has Python frames
  gpu,          // a function in GPU code; `module` is the GPU module's name, `build_id` its hash
  unknown,      // an address outside every mapping; `name` says what is known
  truncated,    // stands for outer frames that could not be followed
};

struct Frame {
  FrameId id{};
  FrameKind kind = FrameKind::native;
  StringId name{};       // demangled function, or "[libfoo.so+0x12ab]" without a symbol
  StringId file{};       // source file
  uint32_t line = 0;     // 0: unknown
  StringId module{};     // path of the mapped file
  StringId build_id{};   // lower-case hex
  uint64_t address = 0;  // ELF virtual address in the module; for annotate and later symbolization
};

// One element of a USTACK or KSTACK: an address if is_address, else a text if `text` is not empty, else a frame.
struct StackElement {
  FrameId frame{};  // 0 if another tool wrote the file: its stacks hold texts and addresses
  uint64_t address = 0;
  std::string_view text;
  bool is_address = false;
};

struct Stack {
  bool kernel = false;  // KSTACK instead of USTACK
  StackId id{};
  std::span<const StackElement> elements;  // outermost first
};

struct Process {  // one process image: an exec makes a new one
  ProcessId id{};
  uint32_t pid = 0;
  uint32_t ppid = 0;
  uint64_t start_ns = 0;  // CLOCK_MONOTONIC, when first seen
  StringId name{};        // comm
  StringId command{};     // command line, arguments separated by a space
  StringId rank{};        // in an MPI, SLURM or torchrun job, from the launcher's environment variables
  StringId host{};        // the host it ran on; 0: the host of META
};

struct Device {
  DeviceId id{};
  StringId backend{};
  uint32_t index = 0;  // the vendor's index, in the first process that named the device
  StringId name{};
  StringId uuid{};  // distinguishes devices that several processes each call number 0
};

// A path of NVTX ranges, as a chain of parents.
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
  graph,   // a complete graph launch whose nodes were not recorded separately
  launch,  // only in LAUNCH records: `name` is the function
  // Only in HOST records; not GPU work.
  sync,
  alloc,
  free,
  fault_gpu,
  fault_cpu,
  migrate_htod,
  migrate_dtoh,
  failed,   // a call returned an error
  no_work,  // a launch succeeded, but its GPU work was not recorded
};

// What the target did, and from where. Records of measurements refer to a Work by id.
struct Work {
  WorkId id{};
  ProcessId process{};
  uint32_t tid = 0;  // of the launching thread; 0: unknown
  StringId thread{};
  StackId ustack{};
  StackId kstack{};
  StackId capture{};  // USTACK of the call that captured the graph node, or added it
  RangeId range{};    // NVTX ranges around the launch
  DeviceId device{};
  uint64_t stream = 0;
  Op op = Op::kernel;
  StringId name{};  // demangled kernel, or the function of LAUNCH and HOST records; 0 for copies and fills
  uint32_t flags = 0;
};
inline constexpr uint32_t kWorkGraphNode = 1;  // a node of a graph launch
inline constexpr uint32_t kWorkUnsampled = 2;  // launches that got no stack because of --max-overhead
inline constexpr uint32_t kWorkAttached =
    4;  // the recorder attached to the process, so a graph node may be older than the recording

// Whether the launch has a stack. The stack of a graph's capture does not count.
constexpr bool has_stack(const Work& work) {
  return index(work.ustack) != 0 || index(work.kstack) != 0;
}

// True if the launch has no stack because of --max-overhead.
constexpr bool is_unsampled(const Work& work) {
  return !has_stack(work) && (work.flags & kWorkUnsampled) != 0;
}

// The sums of the work items of one WORK that ended in one slice. Lines with the same slice and WORK add up.
struct Gpu {
  uint64_t slice = 0;  // index: the work ended in [slice, slice + 1) * META interval_ns after META start_ns
  WorkId work{};
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  Uint128 sum_squares_ns2 = 0;
  uint64_t queue_ns = 0;  // sum of (start - queued) over the work items with both times
  uint64_t bytes = 0;
};

// CPU waits, allocations, page faults, and calls without GPU work. END's sums exclude them.
struct Host {
  uint64_t slice = 0;
  WorkId work{};
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t bytes = 0;
};

// Counts launches without GPU times (record -p with uprobes).
struct Launch {
  uint64_t slice = 0;
  WorkId work{};
  uint64_t count = 0;
};

// How work shares its device's time. Each nanosecond in which a device was busy counts once in busy_ns, for the
// running work that started first. It also counts once in exclusive_ns, divided equally between all running work.
struct Share {
  uint64_t slice = 0;
  WorkId work{};
  uint64_t busy_ns = 0;
  uint64_t exclusive_ns = 0;
};

// Time in which a device had no work, charged to the next launch, or to a blocking call that delayed it.
struct Idle {
  uint64_t slice = 0;
  DeviceId device{};
  WorkId work{};  // 0: nothing was launched afterwards
  uint64_t ns = 0;
};

// An interval of recording. For each device that had work, busy and idle time sum to the length of all windows.
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

// A histogram: bucket b counts the values v with b = bucket_of(v) (latency_bucket.h). Lines with the same WORK
// and phase add up.
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

// One piece of GPU or host work. Only with --timeline.
struct Event {
  WorkId work{};
  uint64_t correlation = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t queued_ns = 0;     // 0: unknown
  uint64_t submitted_ns = 0;  // 0: unknown
  uint64_t bytes = 0;
};

// One API call that put work on a GPU. Only with --timeline.
struct Call {
  ProcessId process{};
  uint32_t tid = 0;
  StackId ustack{};
  StringId function{};
  uint64_t correlation = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

// One NVTX range. Only with --timeline.
struct Span {
  ProcessId process{};
  uint32_t tid = 0;  // 0: a start/end range, which may end in another thread
  RangeId range{};
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

// Counts what the recorder saw, matched or missed. Counts with the same `what` add up.
struct Coverage {
  ProcessId process{};    // 0: the complete recording
  std::string_view what;  // a word of FORMAT.md's table
  uint64_t count = 0;
};

struct GpuModule {  // GPU code that was loaded: a cubin or zebin
  GpuModuleId id{};
  StringId name{};
  StringId hash{};  // lower-case hex
};

// A code location (PC) in GPU code.
struct GpuPlace {
  GpuPlaceId id{};
  GpuModuleId module{};
  StringId function{};
  uint64_t offset = 0;  // of the instruction, in bytes from the start of the function
  StringId instruction{};
  std::span<const FrameId> frames;  // source lines: the outermost function first, then inlined ones; may be empty
};

// What the recorder learned about a code location after it wrote the GPU_PLACE line.
struct GpuInstruction {
  GpuPlaceId place{};
  StringId text{};         // 0: unknown
  GpuPlaceId waits_for{};  // 0: unknown
  StringId what{};         // what the instruction at waits_for does: "load"
};

// The value of a hardware counter at one instruction, over all launches of a process on a device. It is not a time.
// Lines that differ only in `value` add up.
struct GpuCount {
  ProcessId process{};
  DeviceId device{};
  GpuPlaceId place{};
  StringId name{};  // the vendor's name of the counter
  uint64_t value = 0;
};

struct Sampling {  // the sampling period
  SamplingId id{};
  uint64_t period = 0;
  StringId unit{};  // "cycles" or "ns"
};

// Samples of GPU code: what the hardware waited for at one code location while `work` ran.
struct EuStall {
  uint64_t slice = 0;
  WorkId work{};  // its op must be a kernel, copy, fill, graph or other GPU work
  GpuPlaceId place{};
  StringId reason{};
  SamplingId sampling{};
  uint64_t count = 0;
  uint32_t flags = 0;
};
inline constexpr uint32_t kSampleEstimated = 1;  // the attribution to this work was estimated

struct Loss {               // a counter of something missing from the profile
  ProcessId process{};      // 0: no single process
  std::string_view reason;  // a word of FORMAT.md's table
  uint64_t count = 0;
};

struct End {                 // the last line of a complete profile
  uint64_t end_ns = 0;       // CLOCK_MONOTONIC
  uint64_t launches = 0;     // API calls that put work on a GPU
  uint64_t gpu_records = 0;  // valid GPU records, = sum of Gpu.count
  uint64_t gpu_ns = 0;       // = sum of Gpu.sum_ns
  uint64_t with_stack = 0;   // GPU records whose launch has a CPU stack
  uint64_t samples = 0;      // = sum of EuStall.count
  uint64_t lost = 0;         // = sum of Loss.count
};

struct Unknown {  // a kind that this version does not know; readers skip and count it
  std::string_view kind;
};

using Record = std::variant<Meta, String, Frame, Stack, Process, Device, Range, Work, Gpu, Host, Launch, Share, Idle,
                            Window, Latency, Event, Call, Span, Coverage, GpuModule, GpuPlace, GpuInstruction, GpuCount,
                            Sampling, EuStall, Loss, End, Unknown>;

}  // namespace gpuprof::profile
