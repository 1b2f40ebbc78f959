// What the drain thread hands to the writer thread: everything that has become known since the last batch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/records.h"
#include "record/join/sums/histogram.h"
#include "record/process/code/source_modules.h"
#include "record/process/process_table.h"

namespace gpuprof::record {

using NameIndex = uint32_t;  // of a text in this session; 0 is none
using CodeIndex = uint32_t;  // of a Python code object in this session, 31 bits; 0 is none

// As the StringId of a record in a batch.
constexpr profile::StringId name_id(NameIndex name) {
  return profile::StringId{name};
}

// What a text is called that there was no room for.
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
  MappingsOver over;             // what was there instead when the stack was taken
  uint64_t stack = 0;            // id in this session
  std::vector<uint64_t> words;   // as in wire/stack.h, with code objects by CodeIndex; innermost first
  std::vector<uint64_t> kernel;  // addresses in the kernel, innermost first
  uint32_t flags = 0;            // GPUPROF_STACK_*
  uint64_t eval_begin = 0;       // an address in the Python interpreter's file; 0: not known
  bool frame_pointers = false;   // walked by these: where it ends, and whether it has gone astray, is not certain
  bool maps_current = false;     // the mappings were read when the stack came; else some may be missing
};

// A Python code object; the words of later stacks name it.
struct NewCode {
  CodeIndex index = 0;
  profile::ProcessId process{};  // with whose end it may go
  uint32_t version = 0;          // PY_VERSION_HEX
  uint32_t first_line = 0;
  std::string name;
  std::string file;
  std::vector<uint8_t> line_table;  // empty: only the first line is known
};

// Who did what, from where: what a WORK line says.
struct WorkKey {
  uint64_t stack = 0;    // as in NewStack; 0: none
  uint64_t capture = 0;  // the same, of the call that made the node of a graph
  uint64_t stream = 0;
  profile::ProcessId process{};
  profile::DeviceId device{};
  profile::RangeId range{};
  uint32_t tid = 0;
  NameIndex thread = 0;
  NameIndex name = 0;  // kernel, as the vendor gives it, or the function called
  uint32_t flags = 0;  // profile::kWorkGraphNode, ...
  profile::Op op = profile::Op::kernel;
  bool operator==(const WorkKey&) const = default;
};

struct NewWork {
  profile::WorkId id{};
  WorkKey key;
};

// One GPU, HOST or LAUNCH line to be: which of them, the operation of its work says.
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
};

struct NewLatency {
  profile::WorkId work{};
  profile::Phase phase{};
  Histogram histogram;
};

struct NewCall {
  profile::Call call;  // without its ustack
  uint64_t stack = 0;  // as in NewStack
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

// One GPU_COUNT line to be, but for its value.
struct CountKey {
  profile::ProcessId process{};
  profile::DeviceId device{};
  profile::GpuPlaceId place{};
  NameIndex name = 0;
  auto operator<=>(const CountKey&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 is wrong here
};

// One EUSTALL line to be, but for its count.
struct SampleKey {
  uint64_t slice = 0;
  profile::WorkId work{};
  profile::GpuPlaceId place{};
  NameIndex reason = 0;
  profile::SamplingId sampling{};
  uint32_t flags = 0;  // profile::kSampleEstimated
  bool operator==(const SampleKey&) const = default;
};

// The StringIds of its records are names of this session (name_id()). The writer puts the profile's STRINGs there.
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
  std::vector<std::pair<std::string, std::string>> meta;
  uint64_t swept_ns = 0;                  // up to then (CLOCK_MONOTONIC) `shares` are complete
  std::vector<profile::ProcessId> ended;  // no new work or call of theirs will come
  std::optional<profile::End> end;
};

}  // namespace gpuprof::record
