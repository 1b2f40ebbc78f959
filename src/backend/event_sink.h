// Receives the events of all backends, on the recorder's drain thread. Implemented by Correlator and by test doubles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/process/process_guard.h"
#include "profile/records.h"
#include "wire/stack.h"

namespace gpuprof::backend {

// Identifies a process image and one backend in it. Correlation ids and name ids belong to a source.
using SourceId = uint32_t;

struct GpuOp {
  SourceId source = 0;
  uint64_t correlation = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t queued_ns = 0;
  uint64_t submitted_ns = 0;
  uint64_t bytes = 0;
  uint64_t stream = 0;
  uint32_t name_id = 0;
  uint32_t device = 0;
  uint16_t op = 0;          // enum gpuprof_op of wire/wire.h
  bool more = false;        // more work items with the same correlation id may follow
  uint64_t graph_node = 0;  // 0: not part of a graph launch
  uint32_t exec = 0;        // id of the executable graph if the launch of the graph is unknown, else 0
  bool outside = false;     // the launch is known and was outside of --nvtx-range
};

// A launch whose stack was walked in the process, or which has no stack.
struct LaunchCall {
  uint64_t correlation = 0;
  uint64_t stack = 0;  // 0: the launch has no stack
  uint64_t time_ns = 0;
  uint32_t tid = 0;
  uint32_t range = 0;
  std::string_view thread;
};

struct HostOp {
  SourceId source = 0;
  uint64_t correlation = 0;  // has the bit GPUPROF_CORRELATION_HOST, or is 0 if it is missing
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t bytes = 0;
  uint64_t count = 0;
  uint32_t name_id = 0;
  uint32_t device = UINT32_MAX;  // UINT32_MAX: the event belongs to no single device
  uint32_t tid = 0;
  uint16_t op = 0;  // enum gpuprof_host_op_kind
};

struct GraphNode {
  uint64_t node = 0;
  // The node that this node copies. If `updated`: the node whose work this node runs from now on. 0: no other node.
  uint64_t original = 0;
  uint64_t launch = 0;  // correlation id of the captured launch; 0: no launch was captured
  uint64_t time_ns = 0;
  uint32_t name_id = 0;  // name id of the node's kernel; 0: unknown
  bool destroyed = false;
  bool updated = false;  // launches after time_ns run the work of `original` in this node
};

// A launch of an executable graph that may have conditional nodes.
struct GraphLaunch {
  uint64_t correlation = 0;
  uint64_t time_ns = 0;
  // All launches on the stream with a correlation id below this value have ended. 0: unknown.
  uint64_t finished = 0;
  uint32_t exec = 0;
  uint32_t stream = 0;
  bool outside = false;  // see GpuOp
};

struct Range {
  uint32_t id = 0;
  uint32_t parent = 0;
  uint32_t domain_id = 0;
  uint32_t name_id = 0;
};

struct Call {
  uint64_t correlation = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint32_t name_id = 0;
  uint32_t tid = 0;
};

struct Span {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint32_t range = 0;
  uint32_t tid = 0;  // 0: a start/end range, which belongs to no thread
};

// A CPU stack. wire/stack.h describes its words. Ids belong to the source. A stack may be sent more than once.
struct Stack {
  uint64_t id = 0;
  std::span<const uint64_t> words;
  uint32_t flags = 0;                 // GPUPROF_STACK_*
  std::span<const uint32_t> modules;  // ids of the modules that contain the stack's frames
  std::span<const uint64_t> kernel;   // kernel addresses, innermost first; only local backends send them
  // When the recorder read the mappings for the unwind tables. 0: the walk used no unwind tables.
  uint64_t read_ns = 0;
};

// A loaded file, as in gpuprof_module. It is sent before the stacks that refer to it.
struct Module {
  struct Mark {
    uint64_t offset = 0;  // file offset of `bytes`
    std::array<std::byte, 16> bytes{};
  };
  uint32_t module = 0;
  uint64_t start = 0;  // the mapping is [start, end)
  uint64_t end = 0;
  uint64_t offset = 0;  // file offset of `start`
  std::span<const Mark> marks;
  std::string_view path;
};

struct PythonCode {
  uint32_t id = 0;       // id by which stacks refer to the code object
  uint32_t version = 0;  // PY_VERSION_HEX, which determines the format of the line table
  uint32_t first_line = 0;
  std::string_view name;
  std::string_view file;
  std::span<const uint8_t> line_table;  // empty if only first_line is known
};

// Properties of a source. Sent once, before its first launch.
struct SourceTraits {
  bool walks_stacks = false;  // the source walks its stacks itself, even if the recorder's stack engine is on
  // Samples may be sent after their work, so the recorder must store launches longer.
  bool takes_samples = false;
  bool in_recorder = false;  // the source is a part of gpuprof's own process, so users may trust its texts
};

// GPU code that was loaded. Ids are never reused. A module is sent before its locations, and a location before its
// samples.
struct GpuModule {
  uint32_t id = 0;
  std::string_view name;
  std::string_view hash;  // hash of the code in lower-case hex; empty if unknown
};

struct GpuFrame {
  std::string_view function;
  std::string_view file;
  uint32_t line = 0;  // 0: unknown
};

struct GpuPlace {
  uint32_t id = 0;
  uint32_t module = 0;  // 0: unknown
  std::string_view function;
  uint64_t offset = 0;               // bytes from the start of the function to the instruction
  std::string_view instruction;      // the instruction as text; empty if unknown
  std::span<const GpuFrame> frames;  // the outermost function first, then functions inlined into it
};

enum class SamplingUnit : uint8_t { cycles, ns };

// A number of samples with one stall reason at one code location. Thread, range and stacks are those of the launch
// with `correlation`. Device, stream, kernel and node are those of the sample, as in GpuOp. A source that reports
// samples but no GPU work must not report launches, because they would count as launches without work.
struct Sample {
  SourceId source = 0;
  uint64_t correlation = 0;  // correlation id of the kernel's launch; 0: unknown
  uint64_t time_ns = 0;      // when the sample was taken, or any time at which the kernel ran
  uint64_t stream = 0;
  uint64_t graph_node = 0;  // see GpuOp
  uint64_t count = 1;
  // Time between two samples, in cycles or ns (see `unit`). 0: unknown.
  uint64_t period = 0;
  std::string_view reason;
  uint32_t name_id = 0;  // name id of the kernel
  uint32_t place = 0;
  uint32_t device = UINT32_MAX;  // UINT32_MAX: unknown
  uint32_t tid = 0;              // thread of the launch, if the correlation id is unknown
  uint32_t range = 0;            // range of the launch, if the correlation id is unknown
  SamplingUnit unit = SamplingUnit::cycles;
  bool outside = false;    // see GpuOp
  bool estimated = false;  // the sample was attributed by an estimate
};

// Samples of one instruction in one window. If the launch is unknown, they are apportioned among the launches of the
// function. They are sent before on_sample_window() for the window.
struct LocationSamples {
  struct Reason {
    uint32_t reason_id = 0;  // name id of the stall reason
    uint32_t samples = 0;
  };
  uint64_t module = 0;  // number of the GPU code, as it was sent with the code; 0: unknown
  uint64_t offset = 0;  // bytes from the start of the function to the instruction
  // Address of the instruction, to be looked up in LoadedKernels if the module is unknown. 0: unknown.
  uint64_t address = 0;
  uint32_t function_id = 0;  // name id of the function, mangled as in GpuOp; 0: the kernel at the address
  uint32_t window = 0;
  uint64_t correlation = 0;  // id of a launch that on_sampled_launch() has reported; 0: unknown
  std::span<const Reason> reasons;
  bool estimated = false;    // the samples were attributed to the source or function by an estimate
  bool low_address = false;  // only the low 32 bits of the address are known
};

// The end of a window. All its samples were sent before.
struct SampleWindow {
  uint64_t start_ns = 0;  // the samples were taken in [start_ns, end_ns)
  uint64_t end_ns = 0;
  uint64_t handed = 0;   // samples that the source sent, including those that did not arrive
  uint64_t dropped = 0;  // samples that the hardware or the vendor's library dropped
  uint64_t foreign = 0;  // samples in the vendor's own GPU code, which is not part of the program
  // Time between two samples, in cycles or ns (see `unit`). 0: unknown.
  uint64_t period = 0;
  uint32_t window = 0;
  uint32_t device = 0;
  // If `device` is a partition, the device that contains it. The kernels of that device were sampled, too.
  uint32_t whole = 0;
  SamplingUnit unit = SamplingUnit::cycles;
};

// A kernel's code is at this address of the process's GPU memory, from time_ns until it is unloaded or replaced.
struct LoadedKernel {
  uint64_t module = 0;  // see LocationSamples
  uint64_t address = 0;
  uint64_t time_ns = 0;
  uint64_t load = 0;     // the source's number for this loading of the module
  uint32_t name_id = 0;  // name id of the mangled kernel name
  bool gone = false;     // all kernels of the load were unloaded; only `load` and `time_ns` are valid
  // The device for which the code was loaded, with all its partitions. UINT32_MAX: unknown.
  uint32_t device = UINT32_MAX;
};

// The thread blocks of one launch. `slice` and `work` are not set.
using LaunchBlocks = profile::Blocks;

// What the hardware counted at an instruction since the last PlaceCount, over all launches of the kernel.
struct PlaceCount {
  uint64_t module = 0;  // see LocationSamples
  uint64_t offset = 0;
  uint64_t value = 0;
  uint32_t function_id = 0;
  uint32_t name_id = 0;  // name id of the counter
  uint32_t device = 0;
};

// The counters of a source, which only increase. The sink computes differences itself.
struct Counters {
  uint64_t launches = 0;
  uint64_t lost[16] = {};   // the index is an enum gpuprof_loss
  uint64_t counts[9] = {};  // the index is an enum gpuprof_count
};

class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;

  // Called before on_source(). The sink reads data of a process only while the guard reports no change of its
  // identity. It reads nothing of a process without a guard, or with a null guard.
  virtual void on_process(uint32_t /*pid*/, const std::shared_ptr<ProcessGuard>& /*guard*/) {}
  virtual void on_source(SourceId source, uint32_t pid, std::string_view backend) = 0;
  virtual void on_name(SourceId source, uint32_t id, std::string_view text) = 0;
  virtual void on_device(SourceId source, uint32_t device, uint32_t name_id, uint32_t uuid_id) = 0;
  virtual void on_gpu_op(const GpuOp& op) = 0;
  // Names one kernel of a work item that runs several. Called before on_gpu_op() for the item. Samples may refer to
  // the kernel.
  virtual void on_kernel_of(const GpuOp& /*op*/, uint32_t /*name_id*/) {}
  virtual void on_launch(SourceId source, const LaunchCall& launch) = 0;
  virtual void on_host_op(const HostOp& op) = 0;
  virtual void on_graph_node(SourceId source, const GraphNode& node) = 0;
  virtual void on_graph_launch(SourceId source, const GraphLaunch& launch) = 0;
  virtual void on_range(SourceId source, const Range& range) = 0;
  virtual void on_call(SourceId source, const Call& call) = 0;
  virtual void on_span(SourceId source, const Span& span) = 0;
  virtual void on_meta(SourceId source, std::string_view text) = 0;
  virtual void on_stack(SourceId source, const Stack& stack) = 0;
  virtual void on_module(SourceId source, const Module& module) = 0;
  virtual void on_mappings(SourceId source) = 0;  // the mappings of the process have changed
  virtual void on_code(SourceId source, const PythonCode& code) = 0;
  virtual void on_python(SourceId source, const gpuprof_python_layout& layout) = 0;  // called after on_source()
  virtual void on_counters(SourceId source, const Counters& counters) = 0;
  virtual void on_traits(SourceId source, const SourceTraits& traits) = 0;
  virtual void on_gpu_module(SourceId source, const GpuModule& module) = 0;
  virtual void on_gpu_place(SourceId source, const GpuPlace& place) = 0;
  virtual void on_sample(const Sample& sample) = 0;
  virtual void on_samples_dropped(SourceId source, uint64_t count) = 0;  // `count`: samples dropped since the last call
  // Announces a launch that is sampled on its own. Called before the GPU work of the launch is reported.
  virtual void on_sampled_launch(SourceId /*source*/, uint64_t /*correlation*/) {}
  // Called before the GPU work of the launch is reported.
  virtual void on_blocks(SourceId /*source*/, const LaunchBlocks& /*blocks*/) {}
  virtual void on_location_samples(SourceId source, const LocationSamples& samples) = 0;
  virtual void on_sample_window(SourceId source, const SampleWindow& window) = 0;
  virtual void on_location_count(SourceId /*source*/, const PlaceCount& /*count*/) {}
  // Reports a kernel. The sink looks up sample addresses in it, also for samples of other sources of the process.
  virtual void on_loaded_kernel(SourceId /*source*/, const LoadedKernel& /*kernel*/) {}
  virtual void on_source_end(SourceId source) = 0;
};

}  // namespace gpuprof::backend
