// Where backends deliver what they see. Implemented by src/record/join (Correlator) and by test doubles.
// Calls come from the recorder's drain thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/process/process_guard.h"
#include "wire/stack.h"

namespace gpuprof::backend {

// One process image and backend; correlation ids and name ids belong to it.
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
  bool more = false;        // other ops of the same correlation may follow
  bool unsampled = false;   // its launch has no stack by choice; then `tid` and `range` are the launch's
  uint64_t graph_node = 0;  // 0: not of a graph launch
  uint32_t exec = 0;        // not 0: of some launch of this executable graph; then `correlation` is 0
  bool outside = false;     // its launch is not to be recorded: known by those only who find the launch themselves
  uint32_t tid = 0;
  uint32_t range = 0;
};

// A launch whose stack, if any, was walked in the process.
struct LaunchCall {
  uint64_t correlation = 0;
  uint64_t stack = 0;  // 0: none
  uint64_t time_ns = 0;
  uint32_t tid = 0;
  uint32_t range = 0;
  std::string_view thread;  // name
};

struct HostOp {
  SourceId source = 0;
  uint64_t correlation = 0;  // with GPUPROF_CORRELATION_HOST; 0: none
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t bytes = 0;
  uint64_t count = 0;
  uint32_t name_id = 0;
  uint32_t device = UINT32_MAX;  // UINT32_MAX: not of one
  uint32_t tid = 0;
  uint16_t op = 0;  // enum gpuprof_host_op_kind
};

struct GraphNode {
  uint64_t node = 0;
  uint64_t original = 0;  // of which it is a copy, or (updated) whose work it runs from now on; 0: none
  uint64_t launch = 0;    // the launch that was captured; 0: none
  uint64_t time_ns = 0;
  uint32_t name_id = 0;  // of its kernel; 0: not known
  bool destroyed = false;
  bool updated = false;  // for launches after time_ns
};

// A launch of an executable graph that may have conditional nodes.
struct GraphLaunch {
  uint64_t correlation = 0;
  uint64_t time_ns = 0;
  uint64_t finished = 0;  // launches with a lower correlation id on the stream had ended; 0: not known
  uint32_t exec = 0;
  uint32_t stream = 0;
  uint32_t tid = 0;
  uint32_t range = 0;
  bool unsampled = false;  // as of GpuOp
  bool outside = false;    // its work is not wanted
};

struct Range {
  uint32_t id = 0;
  uint32_t parent = 0;
  uint32_t domain_id = 0;  // name ids
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
  uint32_t tid = 0;  // 0: of no thread
};

// Words as in wire/stack.h. Ids belong to the source; a stack may come more than once.
struct Stack {
  uint64_t id = 0;
  std::span<const uint64_t> words;
  uint32_t flags = 0;                 // GPUPROF_STACK_*
  std::span<const uint32_t> modules;  // numbers of the modules that it goes through
  std::span<const uint64_t> kernel;   // addresses in the kernel, innermost first; of a source in our own process only
  uint64_t read_ns = 0;               // when the mappings were read by which it was walked; 0: it was by none of ours
};

// A loaded file, before the stacks that name it. As in gpuprof_module.
struct Module {
  struct Mark {
    uint64_t offset = 0;  // in the file
    std::array<std::byte, 16> bytes{};
  };
  uint32_t module = 0;
  uint64_t start = 0;  // addresses [start, end)
  uint64_t end = 0;
  uint64_t offset = 0;  // of `start` in the file
  std::span<const Mark> marks;
  std::string_view path;
};

struct PythonCode {
  uint32_t id = 0;       // as in the words of stacks
  uint32_t version = 0;  // PY_VERSION_HEX, says the format of the line table
  uint32_t first_line = 0;
  std::string_view name;
  std::string_view file;
  std::span<const uint8_t> line_table;  // empty: only first_line is known
};

// What is special about a source: told once, before its first launch. What is not told is false.
struct SourceTraits {
  bool walks_stacks = false;   // of its launches, whatever the recording's stack engine: on_stack and on_code are heard
  bool takes_samples = false;  // they may come after the work they are of, so launches are kept for a while longer
};

// GPU code that was loaded. Ids of modules and places are never used again; a module comes before its places, a place
// before its samples.
struct GpuModule {
  uint32_t id = 0;
  std::string_view name;
  std::string_view hash;  // of its bytes, lower-case hex; empty: not known
};

// A source line of GPU code.
struct GpuFrame {
  std::string_view function;
  std::string_view file;
  uint32_t line = 0;  // 0: not known
};

struct GpuPlace {
  uint32_t id = 0;
  uint32_t module = 0;  // 0: not known
  std::string_view function;
  uint64_t offset = 0;               // of the instruction in the function
  std::string_view instruction;      // its text; empty: not known
  std::span<const GpuFrame> frames;  // the outermost function first, then what is inlined into it
};

enum class SamplingUnit : uint8_t { cycles, ns };

// What the hardware was found to wait for at one place, so many times. Thread, range and stacks are those of the launch
// that `correlation` names; device, stream, kernel and node are what the sample says, as in GpuOp. A source that tells
// no GPU work of its own tells no launches either: they would count as launches whose work is missing.
struct Sample {
  SourceId source = 0;
  uint64_t correlation = 0;  // of the kernel's launch; 0: not known
  uint64_t time_ns = 0;      // when it was taken, or else a moment at which the kernel ran
  uint64_t stream = 0;
  uint64_t graph_node = 0;  // as of GpuOp
  uint64_t count = 1;
  uint64_t period = 0;  // one sample is taken every `period` units; 0: not known
  std::string_view reason;
  uint32_t name_id = 0;  // of the kernel
  uint32_t place = 0;
  uint32_t device = UINT32_MAX;  // UINT32_MAX: not known
  uint32_t tid = 0;              // of the launch, where that is not known by its correlation id, ...
  uint32_t range = 0;            // ... as is its range
  SamplingUnit unit = SamplingUnit::cycles;
  bool unsampled = false;  // as of GpuOp: its launch has no stack by choice
  bool outside = false;    // as of GpuOp: its launch is not to be recorded
  bool estimated = false;  // whose sample it is was estimated, and not observed
};

// What an instruction was found to do in a window of time. Where its launch is not known, the samples are shared out
// among the launches of the function. Before on_sample_window() of the window.
struct PlaceSamples {
  struct Reason {
    uint32_t reason_id = 0;  // name id
    uint32_t samples = 0;
  };
  uint64_t module = 0;       // by the number with which its code was handed over; 0: not known
  uint64_t offset = 0;       // of the instruction, from where the function begins
  uint64_t address = 0;      // of the instruction, where there is no module: as of LoadedKernel; 0: not known
  uint32_t function_id = 0;  // name id: mangled, as kernels are named by GpuOp; 0: that of the kernel at the address
  uint32_t window = 0;
  uint64_t correlation = 0;  // of the launch, after on_sampled_launch() of it; 0: not known
  std::span<const Reason> reasons;
  bool estimated = false;    // that they are the source's, or the function's, was estimated
  bool low_address = false;  // only the low 32 bits of the address are known
};

// The window has ended, and all of its samples have been told.
struct SampleWindow {
  uint64_t start_ns = 0;  // they were taken in [start_ns, end_ns)
  uint64_t end_ns = 0;
  uint64_t handed = 0;   // samples that were told, or should have been
  uint64_t dropped = 0;  // by the hardware or the vendor's library
  uint64_t foreign = 0;  // in code that is not the program's
  uint64_t period = 0;   // units from one sample to the next; 0: not known
  uint32_t window = 0;
  uint32_t device = 0;
  uint32_t whole = 0;  // the device that it is a part of, or the same: kernels of both were sampled
  SamplingUnit unit = SamplingUnit::cycles;
};

// A kernel's code lies at an address of its process's GPU, from that time on until another one lies there, or its load
// is gone.
struct LoadedKernel {
  uint64_t module = 0;  // as of PlaceSamples
  uint64_t address = 0;
  uint64_t time_ns = 0;
  uint64_t load = 0;             // of the module: the source's number for it
  uint32_t name_id = 0;          // as the code has it
  bool gone = false;             // all kernels of the load are: then only `load` and `time_ns` are set
  uint32_t device = UINT32_MAX;  // that it was made for, and is on all parts of; UINT32_MAX: not known
};

// What an instruction did, counted by the hardware since the last time: of no launch.
struct PlaceCount {
  uint64_t module = 0;  // as of PlaceSamples
  uint64_t offset = 0;
  uint64_t value = 0;
  uint32_t function_id = 0;
  uint32_t name_id = 0;  // of what was counted
  uint32_t device = 0;
};

// Counters of a source that only grow; a sink takes differences itself.
struct Counters {
  uint64_t launches = 0;
  uint64_t lost[16] = {};   // by enum gpuprof_loss
  uint64_t counts[8] = {};  // by enum gpuprof_count
};

class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;

  // Before on_source: what is read of the process is read under this guard.
  virtual void on_process(uint32_t /*pid*/, const std::shared_ptr<ProcessGuard>& /*guard*/) {}
  virtual void on_source(SourceId source, uint32_t pid, std::string_view backend) = 0;
  virtual void on_name(SourceId source, uint32_t id, std::string_view text) = 0;
  virtual void on_device(SourceId source, uint32_t device, uint32_t name_id, uint32_t uuid_id) = 0;
  virtual void on_gpu_op(const GpuOp& op) = 0;
  // Of work that is a batch of kernels: one of them, before on_gpu_op() of the work. Samples may be told by this name.
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
  virtual void on_mappings(SourceId source) = 0;  // they have changed
  virtual void on_code(SourceId source, const PythonCode& code) = 0;
  virtual void on_python(SourceId source, const gpuprof_python_layout& layout) = 0;  // after on_source, or later
  virtual void on_counters(SourceId source, const Counters& counters) = 0;
  virtual void on_traits(SourceId source, const SourceTraits& traits) = 0;
  virtual void on_gpu_module(SourceId source, const GpuModule& module) = 0;
  virtual void on_gpu_place(SourceId source, const GpuPlace& place) = 0;
  virtual void on_sample(const Sample& sample) = 0;
  virtual void on_samples_dropped(SourceId source, uint64_t count) = 0;             // since the last call
  virtual void on_sampled_launch(SourceId /*source*/, uint64_t /*correlation*/) {}  // before its GPU work
  virtual void on_place_samples(SourceId source, const PlaceSamples& samples) = 0;
  virtual void on_sample_window(SourceId source, const SampleWindow& window) = 0;
  virtual void on_place_count(SourceId /*source*/, const PlaceCount& /*count*/) {}
  // Samples of any source of the same process that have an address are looked for in it.
  virtual void on_loaded_kernel(SourceId /*source*/, const LoadedKernel& /*kernel*/) {}
  virtual void on_source_end(SourceId source) = 0;
};

}  // namespace gpuprof::backend
