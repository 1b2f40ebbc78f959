// The line at the end of a recording.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "profile/coverage.h"
#include "record/ipc/channel.h"
#include "record/join/context/totals.h"
#include "symbolize/reading_budget.h"

namespace gpuprof::record {

struct SummaryFacts {
  Totals totals;
  uint64_t wall_ns = 0;
  uint64_t recorder_cpu_ns = 0;
  Channel::Overhead overhead;
  uint64_t stacks = 0;  // distinct
  symbolize::ReadingBudget::LeftOut left_out;
  size_t counted = 0;           // instructions times what was counted of them
  bool counts_only = false;     // launches without GPU times
  bool stacks_missing = false;  // no stack engine
  std::string file;
  uint64_t file_bytes = 0;
  std::string target_end;      // as target_end() has it; empty: nothing is said of it
  bool only_a_window = false;  // recording was off for some of the target's life
  bool used_gpu = false;       // a process of the target has loaded a GPU library and connected
  std::string unseen;          // where nothing was recorded: what the target may have used, and why it was not seen
};

std::string summary_line(const SummaryFacts& facts);

// What was missed; empty where nothing was.
std::string trust_line(const SummaryFacts& facts);

// Why there are no Python frames where one looks for them; empty: nothing is to be said of it.
std::string python_line(const RefusedPython& refused);

// Why names are missing that could have been had; empty: none is for that reason.
std::string left_out_line(const symbolize::ReadingBudget::LeftOut& left_out);

// Tells the user all of them, and whether recording cost more than was allowed.
void tell_summary(const SummaryFacts& facts, bool budget_exceeded);

// `error` of a profile that could not be written to its end: of which file, and what of it is kept.
Error unwritten(const SummaryFacts& facts, Error error);

// What --min-coverage is about, and what `report` says of the profile.
profile::WorkCoverage covered_work(const SummaryFacts& facts);

// How the target ended: "3" or "signal 9 (SIGKILL)" by waitpid's status, which is there for a command; for a process
// that was attached to, whether it has.
std::string target_end(std::optional<int> wait_status, bool ended);

}  // namespace gpuprof::record
