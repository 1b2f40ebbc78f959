// The line at the end of a recording.
#pragma once

#include <cstdint>
#include <string>

#include "profile/coverage.h"
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
  std::string target_end;          // "exit status 0", "signal 9 (SIGKILL)", "still running"
  bool window_was_closed = false;  // recording was off for some of the time
  bool used_gpu = false;           // a process of the target has loaded a GPU library and connected
};

std::string summary_line(const SummaryFacts& facts);

// What was missed; empty where nothing was.
std::string trust_line(const SummaryFacts& facts);

// Why there are no Python frames where one looks for them; empty: nothing is to be said of it.
std::string python_line(const RefusedPython& refused);

// What --min-coverage is about, and what `report` says of the profile.
profile::WorkCoverage covered_work(const SummaryFacts& facts);

// How a command ended, from waitpid's status: "3", "signal 9 (SIGKILL)".
std::string ending_text(int wait_status);

}  // namespace gpuprof::record
