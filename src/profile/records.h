// The records of a profile, with a struct for each kind of line (see FORMAT.md). Only writer.h formats lines, and
// only reader.h parses them.
//
// Times and durations are in nanoseconds, and sizes in bytes. Ids belong to one profile, and the id 0 always means
// "missing". The string_views and spans of a Reader's record are valid until its next call.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "profile/log_buckets.h"

namespace gpuprof::profile {

// The oldest version that readers must support. No earlier version was released.
inline constexpr int kFormatMajor = 3;
inline constexpr int kFormatMinor = 6;

// Ids have different types, so that the compiler rejects a stack id in the place of a string id.
enum class StringId : uint32_t {};
enum class FrameId : uint32_t {};
enum class StackId : uint32_t {};  // USTACK and KSTACK have separate ids
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

// Describes the complete profile. If a key is repeated, its values are a list.
struct Meta {
  std::string_view key;
  std::string_view value;
};

struct String {
  StringId id{};
  std::string_view value;
};

enum class FrameKind : uint8_t {
  native,       // user-space machine code
  inlined,      // inlined into the frame before it, as stacks are outermost first
  kernel,       // code of the Linux kernel
  python,       // a Python function; `name` is its qualified name if the interpreter knows it
  interpreter,  // machine code of the Python interpreter, in a stack that has Python frames
  gpu,          // a function in GPU code; `module` is the name of the GPU module, and `build_id` its hash
  unknown,      // an address outside of every mapping; `name` says what is known about it
  truncated,    // stands for the outer frames to which the walk did not get
};

struct Frame {
  FrameId id{};
  FrameKind kind = FrameKind::native;
  StringId name{};  // demangled function; without a symbol, "[libfoo.so+0x12ab]"
  StringId file{};
  uint32_t line = 0;     // 0: unknown
  StringId module{};     // path of the mapped file
  StringId build_id{};   // lower-case hex
  uint64_t address = 0;  // virtual address in the ELF module, for annotate and later symbolization
};

// One element of a USTACK or KSTACK. It is an address if is_address, else a text if `text` is not empty, else a
// frame.
struct StackElement {
  // 0 if another tool wrote the file, because its stacks hold texts and addresses.
  FrameId frame{};
  uint64_t address = 0;
  std::string_view text;
  bool is_address = false;
};

struct Stack {
  bool kernel = false;  // true for a KSTACK, false for a USTACK
  StackId id{};
  std::span<const StackElement> elements;  // outermost first
};

// One process image. An exec makes a new one.
struct Process {
  ProcessId id{};
  uint32_t pid = 0;
  uint32_t ppid = 0;
  uint64_t start_ns = 0;  // CLOCK_MONOTONIC time at which the recorder first saw the process
  StringId name{};
  StringId command{};  // command line, with spaces between the arguments
  StringId rank{};     // rank in an MPI, SLURM or torchrun job, from an environment variable of the launcher
  StringId host{};     // host on which the process ran; 0: the host in META
};

struct Device {
  DeviceId id{};
  StringId backend{};
  uint32_t index = 0;  // the vendor's index of the device, in the first process that named it
  StringId name{};
  StringId uuid{};  // distinguishes devices if several processes have a device number 0
};

// An NVTX range. `parent` is the range that contains it.
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
  graph,   // a complete graph launch, whose nodes were not recorded one by one
  launch,  // only in LAUNCH records, where `name` is the function
  // The rest is only in HOST records, and is not GPU work.
  sync,
  alloc,
  free,
  fault_gpu,
  fault_cpu,
  migrate_htod,
  migrate_dtoh,
  failed,   // a call returned an error
  no_work,  // a launch succeeded, but its GPU work was not recorded
  cpu,      // a thread computed
  off_cpu,  // a thread did not compute, or it is unknown whether it did; `name` says why
  call,     // another call of the vendor's API that often is slow, or that lasted long; it may include a wait
};

// What the target did, and where in its code. Records of measurements refer to a Work by its id.
struct Work {
  WorkId id{};
  ProcessId process{};
  uint32_t tid = 0;  // thread of the launch; 0: unknown
  StringId thread{};
  StackId ustack{};
  StackId kstack{};
  StackId capture{};  // USTACK of the call that captured the graph node or added it
  RangeId range{};    // innermost NVTX range around the launch
  DeviceId device{};
  uint64_t stream = 0;
  Op op = Op::kernel;
  // The demangled kernel. In LAUNCH and HOST records, the function. 0 for copies and fills.
  StringId name{};
  uint32_t flags = 0;
};
inline constexpr uint32_t kWorkGraphNode = 1;  // a node of a graph launch
inline constexpr uint32_t kWorkUnsampled = 2;
inline constexpr uint32_t kWorkAttached =
    // The recorder attached to the process, so a graph node may have been created before the recording.
    4;

// Returns whether the launch has a stack. The stack of a graph's capture does not count.
constexpr bool has_stack(const Work& work) {
  return index(work.ustack) != 0 || index(work.kstack) != 0;
}

// Returns whether the launch has no stack because of --max-overhead.
constexpr bool is_unsampled(const Work& work) {
  return !has_stack(work) && (work.flags & kWorkUnsampled) != 0;
}

// Whether the operation is not a call but a time of a thread, which only recordings with CPU samples have.
constexpr bool is_thread_time(Op op) {
  return op == Op::cpu || op == Op::off_cpu;
}

// Sums over the work items of one WORK that ended in one slice. The values of lines with the same slice and WORK are
// added.
struct Gpu {
  // Number of the slice: the work ended in [slice, slice + 1) * META interval_ns after META start_ns.
  uint64_t slice = 0;
  WorkId work{};
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  Uint128 sum_squares_ns2 = 0;
  uint64_t queue_ns = 0;  // sum of (start - queued) over the work items for which both times are known
  uint64_t bytes = 0;
};

// CPU waits, allocations, page faults, and calls without GPU work. They are not GPU work, so the sums in END do not
// include them.
struct Host {
  uint64_t slice = 0;
  WorkId work{};
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t bytes = 0;
};

// Launches whose GPU times are unknown (record -p with uprobes).
struct Launch {
  uint64_t slice = 0;
  WorkId work{};
  uint64_t count = 0;
};

// How work shares the time of its device. Each nanosecond in which the device was busy is in busy_ns of one running
// work: the one that started first. It is also in exclusive_ns, divided equally between all running work.
struct Share {
  uint64_t slice = 0;
  WorkId work{};
  uint64_t busy_ns = 0;
  uint64_t exclusive_ns = 0;
};

// Time in which a device had no work. It belongs to the next launch, or to a call that delayed that launch (Op::sync or
// Op::call). With CPU samples, it belongs to what the thread of the next launch did (also Op::cpu or Op::off_cpu).
struct Idle {
  uint64_t slice = 0;
  DeviceId device{};
  WorkId work{};  // 0: nothing was launched afterwards
  uint64_t ns = 0;
};

// An interval of recording. The busy and idle times of each device that had work sum to the length of all windows.
struct Window {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t weight = 1;  // stands for this many times its length; not 1 only with --max-overhead
  bool operator==(const Window&) const = default;
};

enum class Phase : uint8_t {
  call_to_queued,
  queued_to_submitted,
  submitted_to_start,
  call_to_start,
};

// A histogram. Bucket b counts the values v with b = LatencyBuckets::of(v) (see log_buckets.h). The values of lines
// with the same WORK and phase are added.
struct Latency {
  using Bucket = BucketCount<LatencyBuckets>;
  WorkId work{};
  Phase phase = Phase::call_to_queued;
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  std::span<const Bucket> buckets;
};

// The durations of the work items in the GPU lines, or of the calls in the HOST lines, with the same slice and WORK.
// Lines add up.
struct Duration {
  using Bucket = BucketCount<DurationBuckets>;
  uint64_t slice = 0;
  WorkId work{};
  std::span<const Bucket> buckets;  // ascending, without empty buckets
};

// When the thread blocks of the launches of a probed kernel ran. All numbers but those of the slowest block and
// `device_sms` are sums over the launches, and lines with the same slice and WORK add up. An SM works while a block of
// the launch runs on it. A launch's width is the highest number of its SMs that worked at the same time. Its tail is
// the time at its end in which less than half of its width worked.
struct Blocks {
  using Bucket = Duration::Bucket;
  uint64_t slice = 0;
  WorkId work{};
  uint64_t launches = 0;
  uint64_t grid = 0;        // blocks of the launches
  uint64_t blocks = 0;      // blocks that were recorded; all other numbers are of these
  uint64_t span_ns = 0;     // from the start of the first block to the end of the last one
  uint64_t sum_ns = 0;      // durations of the blocks
  uint64_t busy_ns = 0;     // time in which SMs worked, summed over the SMs
  uint64_t sm_ns = 0;       // width times span
  uint64_t busiest_ns = 0;  // time in which the busiest SM worked
  uint64_t mean_ns = 0;     // mean time in which an SM worked, of those on which a block ran
  uint64_t tail_ns = 0;
  uint64_t tail_busy_ns = 0;  // part of `busy_ns` in the tail
  uint64_t tail_sm_ns = 0;    // width times tail
  uint64_t saved_ns = 0;      // time by which the tail were shorter if its work kept all SMs of the width busy
  uint64_t concurrent = 0;    // most blocks that ran at the same time
  uint32_t device_sms = 0;    // SMs of the device; 0: unknown
  uint64_t slowest_ns = 0;    // duration of the slowest block
  uint32_t x = 0;             // its coordinates
  uint32_t y = 0;
  uint32_t z = 0;
  uint64_t correlation = 0;  // its launch, as in EVENT
  // Durations of the blocks: ascending, without empty buckets. Some may be missing.
  std::span<const Bucket> buckets;
};

// One piece of GPU or host work. Recorded only with --timeline.
struct Event {
  WorkId work{};
  uint64_t correlation = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t queued_ns = 0;     // 0: unknown
  uint64_t submitted_ns = 0;  // 0: unknown
  uint64_t bytes = 0;
};

// One API call that put work on a GPU. Recorded only with --timeline.
struct Call {
  ProcessId process{};
  uint32_t tid = 0;
  StackId ustack{};
  StringId function{};
  uint64_t correlation = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

// One NVTX range. Recorded only with --timeline.
struct Span {
  ProcessId process{};
  uint32_t tid = 0;  // 0: a start/end range, which may end in another thread
  RangeId range{};
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

// Counts what the recorder saw, matched or missed. The counts of lines with the same `what` are added.
struct Coverage {
  ProcessId process{};    // 0: the complete recording
  std::string_view what;  // a word of the table in FORMAT.md
  uint64_t count = 0;
};

// Only with --max-overhead: the launches with GPU work that the process made in the windows of one slice, each counted
// with the weight of its window. The counts of lines with the same slice and process are added.
struct Weighted {
  uint64_t slice = 0;
  ProcessId process{};
  uint64_t count = 0;
};

struct GpuModule {  // loaded GPU code: a cubin or zebin
  GpuModuleId id{};
  StringId name{};
  StringId hash{};  // lower-case hex
};

// A code location (PC) in GPU code.
struct GpuPlace {
  GpuPlaceId id{};
  GpuModuleId module{};
  StringId function{};
  uint64_t offset = 0;  // bytes from the start of the function to the instruction
  StringId instruction{};
  // Source lines: the outermost function first, then the functions inlined into it. May be empty.
  std::span<const FrameId> frames;
};

// What the recorder found out about a code location after it had written the GPU_PLACE line.
struct GpuInstruction {
  GpuPlaceId place{};
  StringId text{};         // 0: unknown
  GpuPlaceId waits_for{};  // 0: unknown
  StringId what{};         // what the instruction at waits_for does, such as "load"
};

// The value of a hardware counter at one instruction, over all launches of a process on a device. It is not a time.
// The values of lines that differ only in `value` are added.
struct GpuCount {
  ProcessId process{};
  DeviceId device{};
  GpuPlaceId place{};
  StringId name{};  // name of the counter, as the vendor calls it
  uint64_t value = 0;
};

struct Sampling {
  SamplingId id{};
  uint64_t period = 0;
  StringId unit{};  // "cycles" or "ns"
};

// Samples of GPU code: what threads waited for at one code location while `work` ran.
struct EuStall {
  uint64_t slice = 0;
  WorkId work{};  // its op is a kernel, copy, fill, graph or other GPU work
  GpuPlaceId place{};
  StringId reason{};
  SamplingId sampling{};
  uint64_t count = 0;
  uint32_t flags = 0;
};
inline constexpr uint32_t kSampleEstimated = 1;  // the samples were attributed to this work by an estimate

struct Loss {
  ProcessId process{};      // 0: the loss belongs to no single process
  std::string_view reason;  // a word of the table in FORMAT.md
  uint64_t count = 0;
};

struct End {
  uint64_t end_ns = 0;       // CLOCK_MONOTONIC
  uint64_t launches = 0;     // API calls that put work on a GPU
  uint64_t gpu_records = 0;  // valid GPU records: the sum of Gpu.count
  uint64_t gpu_ns = 0;       // the sum of Gpu.sum_ns
  uint64_t with_stack = 0;   // GPU records whose launch has a CPU stack
  uint64_t samples = 0;      // the sum of EuStall.count
  uint64_t lost = 0;         // the sum of Loss.count
};

// A record of a kind that this version does not know. Readers skip and count it.
struct Unknown {
  std::string_view kind;
};

using Record = std::variant<Meta, String, Frame, Stack, Process, Device, Range, Work, Gpu, Host, Launch, Share, Idle,
                            Window, Latency, Duration, Blocks, Event, Call, Span, Coverage, Weighted, GpuModule,
                            GpuPlace, GpuInstruction, GpuCount, Sampling, EuStall, Loss, End, Unknown>;

}  // namespace gpuprof::profile
