// A batch: data that the main thread has collected since the last batch and sends to the writer thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/block_totals.h"
#include "profile/records.h"
#include "record/join/sums/histogram.h"
#include "record/process/code/source_modules.h"
#include "record/process/process_table.h"

namespace gpuprof::record {

struct Rewrite;

using NameIndex = uint32_t;  // index into the recording's NameTable; 0: no text
using CodeIndex = uint32_t;  // index of a Python code object in the recording's CodeTable, 31 bits; 0: no code object

constexpr profile::StringId name_id(NameIndex name) {
  return profile::StringId{name};
}

// The name that replaces a text when the number or size of texts has reached a limit.
inline constexpr std::string_view kMoreNames = "[more names]";

struct NewName {
  NameIndex index = 0;
  std::string text;
};

struct NewDevice {
  profile::DeviceId id{};
  std::string backend;
  uint32_t index = 0;
  std::string name;
  std::string uuid;
};

struct NewStack {
  std::shared_ptr<const ProcessImage> process;
  std::shared_ptr<const symbolize::ProcessMaps> maps;
  // Mappings that differed from `maps` when the stack was taken.
  MappingsOver over;
  uint64_t stack = 0;  // the recording's number of this stack
  // Innermost first. The words are encoded as in wire/stack.h, except that a Python word holds a CodeIndex.
  std::vector<uint64_t> words;
  std::vector<uint64_t> kernel;  // addresses in the Linux kernel, innermost first
  uint32_t flags = 0;            // GPUPROF_STACK_... bits
  uint64_t eval_begin = 0;       // address of Python's evaluation function in the process; 0: unknown
  // True if frame pointers were used to walk the stack, so that its outermost frames may be wrong.
  bool frame_pointers = false;
  // False if `maps` may lack mappings that the process had made when the stack arrived.
  bool maps_current = false;
};

// A Python code object. Stack words in this batch and in later batches refer to `index`.
struct NewCode {
  CodeIndex index = 0;
  // When this process has ended, the writer may drop the code object.
  profile::ProcessId process{};
  uint32_t version = 0;  // PY_VERSION_HEX
  uint32_t first_line = 0;
  std::string name;
  std::string file;
  std::vector<uint8_t> line_table;  // empty: only the first line is known
};

struct WorkKey {
  uint64_t stack = 0;  // equal to a NewStack::stack; 0: no stack
  // The stack of the call that created the graph node; 0: no stack.
  uint64_t capture = 0;
  uint64_t stream = 0;
  profile::ProcessId process{};
  profile::DeviceId device{};
  profile::RangeId range{};
  uint32_t tid = 0;
  NameIndex thread = 0;
  // The kernel's name as the vendor spells it, or the name of the called function.
  NameIndex name = 0;
  uint32_t flags = 0;  // profile::kWorkGraphNode, ...
  profile::Op op = profile::Op::kernel;
  bool operator==(const WorkKey&) const = default;
};

struct NewWork {
  profile::WorkId id{};
  WorkKey key;
};

// Key of a GPU, HOST or LAUNCH line of the profile. The operation of `work` selects the kind of line.
struct RowKey {
  uint64_t slice = 0;
  profile::WorkId work{};
  bool operator==(const RowKey&) const = default;
};

struct RowValue {
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;
  profile::Uint128 sum_squares_ns2 = 0;
  uint64_t queue_ns = 0;
  uint64_t bytes = 0;
  // The durations of GPU work and of calls. Without new buckets if the recorder's memory is used up.
  std::vector<profile::Duration::Bucket> durations;
};

struct NewLatency {
  profile::WorkId work{};
  profile::Phase phase{};
  Histogram histogram;
};

struct NewCall {
  // Its `ustack` is not set, because the writer computes it from `stack`.
  profile::Call call;
  uint64_t stack = 0;
};

struct GpuLine {
  NameIndex function = 0;
  NameIndex file = 0;
  uint32_t line = 0;
};

struct NewGpuPlace {
  profile::GpuPlaceId id{};
  profile::GpuModuleId module{};
  NameIndex function = 0;
  NameIndex instruction = 0;
  uint64_t offset = 0;
  std::vector<GpuLine> lines;  // outermost first
};

struct CountKey {
  profile::ProcessId process{};
  profile::DeviceId device{};
  profile::GpuPlaceId place{};
  NameIndex name = 0;
  auto operator<=>(const CountKey&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 is wrong here
};

struct SampleKey {
  uint64_t slice = 0;
  profile::WorkId work{};
  profile::GpuPlaceId place{};
  NameIndex reason = 0;
  profile::SamplingId sampling{};
  uint32_t flags = 0;
  bool operator==(const SampleKey&) const = default;
};

// In a batch, the StringIds of records are NameIndex values (see name_id()). The writer replaces them by STRING ids.
struct Batch {
  std::vector<std::shared_ptr<const ProcessImage>> processes;
  std::vector<NewName> names;
  std::vector<NewDevice> devices;
  std::vector<profile::Range> ranges;
  std::vector<NewCode> codes;
  std::vector<NewStack> stacks;
  std::vector<profile::GpuModule> gpu_modules;
  std::vector<NewGpuPlace> gpu_places;
  std::vector<profile::GpuInstruction> gpu_instructions;
  std::vector<profile::Sampling> samplings;
  std::vector<NewWork> works;
  std::vector<std::pair<RowKey, RowValue>> rows;
  std::vector<std::pair<RowKey, profile::BlockTotals>> blocks;
  std::vector<std::pair<SampleKey, uint64_t>> samples;
  std::vector<std::pair<CountKey, uint64_t>> gpu_counts;
  std::vector<profile::Share> shares;
  std::vector<profile::Idle> idle;
  std::vector<profile::Window> windows;
  std::vector<NewLatency> latencies;
  std::vector<profile::Event> events;
  std::vector<NewCall> calls;
  std::vector<profile::Span> spans;
  std::vector<profile::Loss> losses;
  std::vector<profile::Coverage> coverage;
  std::vector<profile::Weighted> weighted;
  std::vector<std::pair<std::string, std::string>> meta;
  uint64_t swept_ns = 0;       // `shares` are complete up to this time (CLOCK_MONOTONIC); 0: none are
  uint64_t idle_until_ns = 0;  // `shares` and `idle` are
  // These processes have ended, and all their works and calls are in this batch or in earlier ones.
  std::vector<profile::ProcessId> ended;
  std::optional<profile::End> end;
  std::shared_ptr<Rewrite> rewrite;  // executed after the rest of the batch; may be null
};

}  // namespace gpuprof::record
