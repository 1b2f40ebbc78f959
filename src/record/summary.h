// The line at the end of a recording.
#pragma once

#include <cstdint>
#include <string>

#include "record/channel.h"
#include "record/correlate.h"

namespace gpuprof::record {

struct SummaryFacts {
  Totals totals;
  uint64_t wall_ns = 0;
  uint64_t recorder_cpu_ns = 0;
  Channel::Overhead overhead;
  uint64_t stacks = 0;          // distinct
  bool counts_only = false;     // launches without GPU times
  bool stacks_missing = false;  // no stack engine
  std::string file;
  uint64_t file_bytes = 0;
};

std::string summary_line(const SummaryFacts& facts);

// What was missed; empty where nothing was.
std::string trust_line(const SummaryFacts& facts);

// Why there are no Python frames where one looks for them; empty: nothing is to be said of it.
std::string python_line(const RefusedPython& refused);

// How much of the GPU work a CPU stack explains, lost work included; launches that got no stack by choice count as
// explained. For --min-coverage, as `report` has it.
double coverage_percent(const SummaryFacts& facts);

}  // namespace gpuprof::record
