// Messages at the end of a recording.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/coverage.h"
#include "record/ipc/channel.h"
#include "record/join/context/totals.h"
#include "symbolize/reading_budget.h"

namespace gpuprof::record {

struct SummaryFacts {
  Totals totals;
  uint64_t wall_ns = 0;
  uint64_t recorded_ns = 0;  // how long recording was on
  uint64_t recorder_cpu_ns = 0;
  // CPU time of the recorder before and after wall_ns.
  uint64_t other_cpu_ns = 0;
  struct Around {
    uint64_t attach_ns = 0;
    uint64_t leave_ns = 0;
  };
  struct Kept {
    uint64_t ns = 0;
    uint64_t gpu_records = 0;
    uint64_t gpu_ns = 0;
    std::vector<std::string> earlier;  // with record --rotate: the files of the time before
  };
  std::optional<Kept> kept;      // with record --last: what the profile has. The other numbers are of all the time.
  std::optional<Around> around;  // with record -p: how long attaching and detaching took
  Channel::Overhead overhead;
  uint64_t windows = 0;
  uint64_t stacks = 0;
  symbolize::ReadingBudget::LeftOut left_out;
  size_t counted = 0;  // number of (instruction, metric) pairs with a count
  // True if launches were only counted, without GPU times.
  bool counts_only = false;
  bool wants_counts = false;  // with --sass-metrics, which records no launches
  bool stacks_missing = false;
  std::string file;
  uint64_t file_bytes = 0;
  // The text of the function target_end(); empty: the summary does not mention the end.
  std::string target_end;
  // True if recording was off during a part of the target's life.
  bool only_a_window = false;
  std::vector<std::string> still_running;  // processes of the command at the end: "4242 (python3)"
  bool duty_cycle = false;                 // recording was on only in windows of --max-overhead
  double max_overhead = 0;                 // with duty_cycle: the limit in percent of wall_ns
  std::string nvtx_range;                  // the argument of --nvtx-range
  std::string only_backends;               // see SessionOptions
  // True if gpuprof had no free descriptor for a connection of a process.
  bool lacked_descriptors = false;
  // True if a process of the target connected.
  bool used_gpu = false;
  // If no GPU work was recorded: the unavailable backends and why they are unavailable.
  std::string unrecorded;
  std::vector<Error> unrecorded_processes;
};

struct Summary {
  bool is_warning = false;         // the profile is empty
  std::vector<std::string> lines;  // at most 100 columns with "gpuprof: ", unless one phrase or file name is longer
  std::string hint = {};
};

// Lists losses and missing data first, then what was recorded, its cost, and the file.
Summary summary_of(const SummaryFacts& facts);

// Says that the measured overhead exceeds the limit of --max-overhead, and why. Returns "" if it does not.
std::string exceeded_line(const SummaryFacts& facts);

// Returns "process 42 (sh) still runs, its later work is not in the profile"; empty: no process still runs.
std::string running_line(const SummaryFacts& facts);

// Returns why Python frames are missing; empty: no process lacks Python frames.
std::string python_line(const RefusedPython& refused);

// Returns which names are missing because of limits; empty: no names are missing.
std::string left_out_line(const symbolize::ReadingBudget::LeftOut& left_out);

// Prints all messages.
void print_summary(const SummaryFacts& facts);

// Adds the file's name and the number of bytes written to an error that made the profile incomplete.
Error unwritten(const SummaryFacts& facts, Error error);

// Returns the coverage that --min-coverage checks and `report` shows.
profile::WorkCoverage covered_work(const SummaryFacts& facts);

// Describes how the target ended: "3" or "signal 9 (SIGKILL)". `ended`: whether an attached process has ended.
std::string target_end(std::optional<int> wait_status, bool ended);

}  // namespace gpuprof::record
