// What a recording wants of the join.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/sampling_options.h"
#include "base/clock.h"
#include "record/memory_budget.h"
#include "record/process/code/code_reader.h"
#include "record/process/instruments.h"

namespace gpuprof::record {

struct JoinOptions {
  uint64_t start_ns = 0;  // of the session; slices count from here
  uint64_t interval_ns = 1'000'000'000;
  std::vector<std::string> counted_functions;  // names behind on_counted_launch's index
  uint32_t attach_pid = 0;                     // the process of record -p, which may have no source
  bool stacks_wanted = true;                   // work without one is counted as such
  bool stacks_from_sources = false;            // they walk them; else the stack engine does
  bool frame_pointers = false;                 // by which the stack engine walks
  Instruments instruments;
  bool timeline = false;              // keep every event
  bool latency = false;               // histograms of the launches' phases
  backend::SamplingOptions sampling;  // of targets whose samples name no launch
  CodeReader* code_reader = nullptr;  // for samples and counts; null: nobody knows the code
  uint64_t (*clock)() = monotonic_ns;
  std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>();
};

}  // namespace gpuprof::record
