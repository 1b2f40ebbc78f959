// Writes the subset of a profile that fulfils given conditions.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/merge/merge.h"
#include "analyze/paths/call_path.h"
#include "analyze/rows/row_filter.h"
#include "analyze/rows/time_window.h"
#include "analyze/subsets/complete_profile.h"
#include "analyze/subsets/subset_writer.h"
#include "base/text/pattern.h"

namespace gpuprof::analyze {

// Inclusive ranges of unsigned integers.
using NumberRanges = std::vector<std::pair<uint64_t, uint64_t>>;

enum class Aspect : uint8_t { time, process, rank, device, path, kernel };
inline constexpr size_t kAspects = 6;

// Conditions on records. A record must fulfil all conditions that are set.
struct Conditions {
  std::optional<TimeWindow> window;
  std::optional<uint32_t> pid;  // process id; must not be combined with process_name
  std::optional<Pattern> process_name;
  std::optional<NumberRanges> ranks;
  std::optional<NumberRanges> devices;
  std::optional<Pattern> path;    // a frame label of the CPU stack must match
  std::optional<Pattern> kernel;  // the name of the work item must match
  bool inverted = false;          // true: keep only the records that do not fulfil the conditions
  // Indexed by Aspect: the user's option, for messages; empty if the option was not given.
  std::array<std::string, kAspects> words;

  [[nodiscard]] bool has(Aspect aspect) const { return !words.at(static_cast<size_t>(aspect)).empty(); }
  [[nodiscard]] std::string text() const;  // all options as the user wrote them; empty without conditions
};

class Filter {
 public:
  // `conditions` must outlive the filter.
  Filter(const Conditions& conditions, RecordSink sink);

  Status take(const profile::Record& record);  // takes the records that merge() passes on, in their order
  Status finish();                             // fails with kExitNothing if no record is left

  // Lists the records that were left out because they lack a field that a condition tests: "COVERAGE 7, LATENCY 12".
  // Returns "" if no record was left out.
  [[nodiscard]] std::string left_out() const;
  [[nodiscard]] std::vector<std::string> mismatches() const { return whole_.mismatches(); }
  // Returns the time of the selected slices, or nullopt without a time condition.
  [[nodiscard]] std::optional<TimeWindow> selected_window() const;

 private:
  enum class Answer : uint8_t { no, yes, unknown };

  Status take_row(const profile::Record& row);
  Answer judge(const profile::Record& row);
  std::optional<Answer> ask(Aspect aspect, const RowOwner& row);
  template <typename Takes>
  Answer known_or(Aspect aspect, uint32_t id, const Takes& takes);
  Answer ask_process(Aspect aspect, const profile::Process& process);
  Answer ask_work(Aspect aspect, profile::WorkId id);
  [[nodiscard]] bool is_of_time(uint64_t slice) const;
  [[nodiscard]] Error nothing() const;
  [[nodiscard]] std::string kept_text() const;

  const Conditions& conditions_;
  RecordSink sink_;
  CompleteProfile whole_;
  const std::optional<Pattern> none_;
  WorkPaths texts_;
  RowFilter paths_;
  RowFilter kernels_;
  // Cached answers, indexed by Aspect and then by process or WORK id. 0 is not cached, 1 is no, 2 is yes.
  std::array<std::vector<uint8_t>, kAspects> known_;
  std::optional<SubsetWriter> part_;
  uint64_t rows_ = 0;
  std::array<uint64_t, kAspects> matched_{};
  std::map<std::string, uint64_t> left_out_;
  std::set<size_t> recordings_;  // with rows that match the conditions on processes and ranks
};

}  // namespace gpuprof::analyze
