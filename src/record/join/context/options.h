// Options of the join, set once for each recording.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/sampling_options.h"
#include "base/clock.h"
#include "profile/slice_grid.h"
#include "record/memory_budget.h"
#include "record/process/code/code_reader.h"
#include "record/process/profiler_libraries.h"
#include "wire/bpf_events.h"

namespace gpuprof::record {

struct JoinOptions {
  uint64_t start_ns = 0;  // start of the session and of slice 0 (CLOCK_MONOTONIC)
  profile::SliceGrid grid{.interval_ns = 1'000'000'000};
  // Names of the functions that are counted. on_counted_launch() gets an index into this list.
  std::vector<std::string> counted_functions;
  // The process of record -p, which is recorded even without a source; 0: a command is recorded.
  uint32_t attach_pid = 0;
  // Whether work without a stack is reported as incomplete.
  bool stacks_wanted = true;
  // True: injection libraries walk stacks. False: the stack engine does.
  bool stacks_from_sources = false;
  bool frame_pointers = false;  // the stack engine follows frame pointers
  ProfilerLibraries profiler_libraries;
  bool timeline = false;
  bool latency = false;
  // CPU time of a thread between two samples of what it computes, and the time between two polls of its state.
  // 0: targets take no CPU samples.
  uint64_t cpu_period_ns = 0;
  // Makes an OffCpuEngine report the exact times in which these threads do not run. Null: the join polls threads.
  std::function<void(std::vector<gpuprof_bpf_feeder>)> report_off_cpu;
  bool duty_cycle = false;  // only work whose call lies in a window counts, with the weight of the window
  backend::SamplingOptions sampling;
  CodeReader* code_reader = nullptr;  // reads GPU code for samples and counts; null: no code is read
  uint64_t (*clock)() = monotonic_ns;
  std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>();
};

}  // namespace gpuprof::record
