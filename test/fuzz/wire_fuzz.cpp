// Fuzzes the records that a hostile target may write into its rings, through the decoder and the correlator.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "record/ipc/wire_decoder.h"
#include "record/join/correlator.h"
#include "record/write/stack_frames.h"
#include "wire/wire.h"

namespace {

namespace profile = gpuprof::profile;

constexpr uint32_t kEnded = 0x7ffffffe;  // larger than any pid of Linux

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

// The rows of GPU work must sum up to the totals, and every row must refer to a WORK of the batch.
void check_rows(const gpuprof::record::Batch& batch, const gpuprof::record::Totals& totals) {
  std::unordered_map<profile::WorkId, profile::Op> works;
  for (const auto& work : batch.works) {
    require(works.emplace(work.id, work.key.op).second);
  }
  uint64_t records = 0;
  uint64_t ns = 0;
  for (const auto& [key, value] : batch.rows) {
    const auto work = works.find(key.work);
    require(work != works.end());
    if (work->second < profile::Op::launch) {
      records += value.count;
      ns += value.sum_ns;
    }
  }
  require(records == totals.gpu_records && ns == totals.gpu_ns);
  for (const auto& event : batch.events) {
    require(works.contains(event.work));
  }
}

void check_coverage(const gpuprof::record::CoverageCounts& c) {
  using gpuprof::profile::CoverageCount;
  require(c[CoverageCount::launches] == c[CoverageCount::matched] + c[CoverageCount::captured] +
                                            c[CoverageCount::failed] + c[CoverageCount::without_record]);
}

// Each stack that a WORK refers to must exist once and be convertible to frames.
void check_stacks(const gpuprof::record::Batch& batch) {
  gpuprof::record::StackFrames frames_of{gpuprof::record::ProfilerLibraries()};
  for (const auto& code : batch.codes) {
    frames_of.add(code);
  }
  std::unordered_set<uint64_t> stacks;
  std::vector<gpuprof::symbolize::SymbolizedFrame> frames;
  for (const auto& stack : batch.stacks) {
    require(stacks.insert(stack.stack).second);
    frames.clear();
    frames_of.of(stack, frames);  // adds no frames if the stack is invalid
    require(frames.size() <= 64 * stack.words.size() + 2);
  }
  for (const auto& work : batch.works) {
    require(work.key.stack == 0 || stacks.contains(work.key.stack));
    require(work.key.capture == 0 || stacks.contains(work.key.capture));
  }
}

// Returns this live process for one input in 32, and a process that has ended for the others. Reading files of a live
// process costs a hundred times as much as most inputs.
uint32_t pid_for(const uint8_t* data, size_t size) {
  uint32_t hash = 2166136261;
  for (const uint8_t byte : std::span(data, size)) {
    hash = (hash ^ byte) * 16777619;
  }
  return hash % 32 == 0 ? static_cast<uint32_t>(::getpid()) : kEnded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using gpuprof::record::Correlator;
  // A fixed time makes every input reproducible, and limits the number of slices.
  constexpr auto clock = [] { return uint64_t{1'000'000'000}; };
  Correlator correlator({.start_ns = 1,
                         .grid = {.interval_ns = 1'000'000},
                         .stacks_from_sources = true,
                         .timeline = true,
                         .latency = true,
                         .sampling = {.samples = true},
                         .clock = clock});
  correlator.open_window(1);
  correlator.on_source(1, pid_for(data, size), "fuzz");
  gpuprof::record::DecodeCounts counts;
  const auto bytes = std::as_bytes(std::span(data, size));
  require(gpuprof::record::decode_records(1, bytes, correlator, counts) <= size);
  gpuprof::backend::Counters counters;
  counters.launches = counts.records;
  counters.counts[GPUPROF_COUNT_CAPTURED] = counts.malformed;
  correlator.on_counters(1, counters);
  correlator.end_iteration();
  correlator.close_window(clock());
  correlator.finish();
  const auto batch = correlator.take_batch();
  check_rows(batch, correlator.totals());
  check_coverage(correlator.totals().coverage);
  check_stacks(batch);
  uint64_t samples = 0;
  for (const auto& [key, count] : batch.samples) {
    samples += count;
  }
  require(samples == correlator.totals().samples);
  return 0;
}
