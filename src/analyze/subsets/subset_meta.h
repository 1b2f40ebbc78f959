// META lines that describe a profile as a subset of another (see FORMAT.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analyze/rows/time_window.h"
#include "profile/records.h"

namespace gpuprof::analyze {

using Meta = std::multimap<std::string, std::string>;  // META lines by key

inline constexpr std::string_view kFilterKey = "filter";  // value: the conditions of `filter`
// Value: counts of records that lack a field that a condition tests.
inline constexpr std::string_view kLeftOutKey = "filter.left_out";
// Values: number of lines that `merge --lenient` could not read, and of records whose kinds it does not know.
inline constexpr std::string_view kSkippedBadKey = "skipped.bad";
inline constexpr std::string_view kSkippedUnknownKey = "skipped.unknown";
inline constexpr std::string_view kPartPrefix = "part.";
// Value: a random id, the same in all outputs of one `split`.
inline constexpr std::string_view kPartOf = "part.of";
// Value: for example "process 42 train, of a profile split by process".
inline constexpr std::string_view kPartWhich = "part.which";
inline constexpr std::string_view kPartCount = "part.count";  // value: number of outputs; written at the end
// Value: id of a recording that the profile which was split holds completely.
inline constexpr std::string_view kPartRecording = "part.recording";

// Added to "filter" or "part" in a subset by time, if the complete profile lacks GPU work. Its COVERAGE lines say so,
// but they have no time, so the subset lacks them.
inline constexpr std::string_view kLacksWork = ".lacks_gpu_work";

// Describes which subset a profile is: "only what matches --rank 0". Empty for a complete profile.
std::string part_text(const Meta& meta);

// The work of a subset. `window`: all work of a time, to which the WINDOW lines are cut. `slice`: all work of a time
// slice or of several, with the WINDOW lines of the complete profile. `other`: a part of the work.
enum class Subset : uint8_t { none, window, slice, other };
Subset subset_of(const Meta& meta);

// Returns whether a subset was made by time alone, and has all work of its time.
constexpr bool has_all_work(Subset subset) {
  return subset == Subset::window || subset == Subset::slice;
}

// Returns the chosen time (nullopt: all of it). If the profile is a subset by time slices, returns only the part in
// these slices. Returns nullopt if the slices are several intervals.
std::optional<TimeWindow> time_in_slices(const Meta& meta, const std::optional<TimeWindow>& chosen);

// By how much merge() has moved time slices at most, in ns.
inline constexpr std::string_view kSliceShiftKey = "slice_shift_ns";
uint64_t slice_shift_ns(const Meta& meta);  // 0: no slice was moved

// Returns "moved by up to 450 ms onto one clock", or "" if merge() moved no slice.
std::string slice_shift_text(const Meta& meta);

// Returns part_text() as a warning. Empty for a complete profile.
std::string part_warning(const Meta& meta);

// Returns the options that limited recordings to a window of the program's run: "-p 4242 --duration 500 ms; -p 43".
// Empty for recordings of complete runs.
std::string recording_window(const Meta& meta);

// Returns the NVTX ranges to which the recording was limited: "--nvtx-range step". Empty if it was not limited.
std::string recorded_range(const Meta& meta);

// Returns the backends to which the recording was limited: "--backend cupti". Empty if it was not limited.
std::string recorded_backends(const Meta& meta);

// Returns "only a part of the program's run: -p 4242; --nvtx-range step", or "in at least 1 of 3 recordings only a part
// ...". Empty for a recording of a complete run.
std::string recorded_part_text(const Meta& meta);

// How much of the program's run a profile has. `chosen`: all work of a time (-p, --delay, --duration) or of backends
// that options name. `other`: a subset, only some NVTX ranges, or a time that depends on an event, such as a signal.
enum class RunPart : uint8_t { complete, chosen, other };
RunPart part_of_run(const Meta& meta);

// Collects the subsets among the inputs of a merge. If all subsets of a profile are there, they make it complete again.
class SubsetCollector {
 public:
  // Begins an input. `of` is its META part.of, or empty if the input is not a subset.
  void begin_input(std::string_view of);

  // Takes a META line. Returns true if the line says which subset the input is. The caller must then leave the line out
  // of the result, because rest() has the lines for the result.
  bool take(std::string_view key, std::string_view value);

  // Returns true if the result does not have this window of the recording yet. Subsets repeat the windows of the
  // complete profile.
  bool is_new(const profile::Window& window, std::string_view recording);

  using Lines = std::vector<std::pair<std::string, std::string>>;
  [[nodiscard]] Lines rest() const;

 private:
  using Windows = std::map<std::tuple<std::string, uint64_t, uint64_t>, size_t>;  // recording, start and end
  struct Group {                                                                  // the subsets of one profile
    std::set<std::string> which;
    std::set<std::string> counts;
    size_t inputs = 0;
    // META lines of an earlier split, without repetitions, if the profile that was split was itself a subset.
    Lines inherited;
    Windows windows;  // how many times the result has each window
    [[nodiscard]] bool complete() const {
      return counts.size() == 1 && inputs == which.size() && *counts.begin() == std::to_string(which.size());
    }
  };
  std::map<std::string, Group, std::less<>> groups_;
  Group* current_ = nullptr;
  Windows windows_;  // how many times the current input has each window
};

}  // namespace gpuprof::analyze
