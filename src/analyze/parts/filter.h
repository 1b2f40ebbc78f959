// The part of a profile that conditions choose.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/merge/merge.h"
#include "analyze/parts/part.h"
#include "analyze/parts/whole.h"
#include "analyze/paths/call_path.h"
#include "analyze/rows/row_filter.h"
#include "analyze/rows/time_window.h"
#include "base/text/pattern.h"

namespace gpuprof::analyze {

// Whole numbers, each from the first to the second.
using NumberRanges = std::vector<std::pair<uint64_t, uint64_t>>;

enum class Aspect : uint8_t { time, process, rank, device, path, kernel };
inline constexpr size_t kAspects = 6;

// What is not given takes everything; all that is given must hold.
struct Conditions {
  std::optional<TimeWindow> window;     // the slices that a part of it lies in
  std::optional<uint32_t> pid;          // of the process; or:
  std::optional<Pattern> process_name;  // matches its name
  std::optional<NumberRanges> ranks;
  std::optional<NumberRanges> devices;      // their index
  std::optional<Pattern> path;              // matches a frame of the CPU stack, as it is shown
  std::optional<Pattern> kernel;            // matches the name of the work
  bool inverted = false;                    // keeps what does not fulfil them
  std::string text;                         // as a user has given them, for META
  std::array<std::string, kAspects> words;  // the option of each aspect, for messages; empty where it is not given

  [[nodiscard]] bool has(Aspect aspect) const { return !words.at(static_cast<size_t>(aspect)).empty(); }
};

class Filter {
 public:
  // `conditions` must outlive it.
  Filter(const Conditions& conditions, RecordSink sink);

  Status take(const profile::Record& record);  // those of merge(), in turn
  Status finish();                             // fails with kExitNothing where nothing is left

  // What could not be told to be of what was asked for, and is left out: "COVERAGE 7, LATENCY 12". Empty for nothing.
  [[nodiscard]] std::string left_out() const;
  [[nodiscard]] std::vector<std::string> mismatches() const { return whole_.mismatches(); }
  // The time of the slices that were kept; nothing without a condition of time.
  [[nodiscard]] std::optional<TimeWindow> looked_at() const;

 private:
  enum class Answer : uint8_t { no, yes, unknown };

  Status take_row(const profile::Record& row);
  Answer judge(const profile::Record& row);
  std::optional<Answer> ask(Aspect aspect, const Belongs& row);
  template <typename Takes>
  Answer known_or(Aspect aspect, uint32_t id, const Takes& takes);
  Answer ask_process(Aspect aspect, profile::ProcessId id);
  Answer ask_work(Aspect aspect, profile::WorkId id);
  [[nodiscard]] bool is_of_time(uint64_t slice) const;
  [[nodiscard]] std::vector<profile::Window> kept_windows() const;
  [[nodiscard]] Error nothing() const;

  const Conditions& conditions_;
  RecordSink sink_;
  Whole whole_;
  const std::optional<Pattern> none_;
  WorkPaths texts_;
  RowFilter paths_;
  RowFilter kernels_;
  std::array<std::vector<uint8_t>, kAspects> known_;  // answers by id + 1: of processes, of WORKs
  std::optional<Part> part_;
  uint64_t rows_ = 0;
  std::array<uint64_t, kAspects> matched_{};  // rows that fulfil this one
  std::map<std::string, uint64_t> left_out_;
};

}  // namespace gpuprof::analyze
