// Options of the join, set once for each recording.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/sampling_options.h"
#include "base/clock.h"
#include "record/memory_budget.h"
#include "record/process/code/code_reader.h"
#include "record/process/profiler_libraries.h"

namespace gpuprof::record {

struct JoinOptions {
  uint64_t start_ns = 0;  // start of the session (CLOCK_MONOTONIC) and of slice 0
  uint64_t interval_ns = 1'000'000'000;
  std::vector<std::string> counted_functions;  // function names; on_counted_launch() gets an index of this list
  uint32_t attach_pid = 0;                     // pid given to record -p (0: none), to be recorded even without a source
  bool stacks_wanted = true;                   // report work without a stack as incomplete
  bool stacks_from_sources = false;            // injection libraries walk stacks; else the stack engine does
  bool frame_pointers = false;                 // the stack engine walks by frame pointers
  ProfilerLibraries profiler_libraries;
  bool timeline = false;  // store every event
  bool latency = false;   // store histograms of launch latencies
  backend::SamplingOptions sampling;
  CodeReader* code_reader = nullptr;  // reads GPU code for samples and counts; null: no code is read
  uint64_t (*clock)() = monotonic_ns;
  std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>();
};

}  // namespace gpuprof::record
