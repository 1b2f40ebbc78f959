// Reads the headers of a merge's inputs and maps their clocks to one. Internal to merge.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/merge/merge.h"
#include "analyze/merge/recordings.h"
#include "analyze/subsets/subset_meta.h"
#include "base/result.h"
#include "base/text/numbers.h"
#include "profile/reader.h"
#include "profile/records.h"
#include "profile/slice_grid.h"

namespace gpuprof::analyze {

__extension__ typedef __int128 Int128;  // NOLINT(modernize-use-using): __extension__ needs a typedef

// META keys that describe the clock. The result has each key once, not once per input.
inline constexpr std::array<std::string_view, 5> kClockKeys = {
    "start_ns", "start_unix_ns", profile::SliceGridReader::kLongFrom, profile::SliceGridReader::kLongInterval,
    profile::SliceGridReader::kInterval};

// META keys whose values are summed in the result.
inline constexpr std::array<std::string_view, 8> kSummedKeys = {
    "sweep.late_ns", "gpu_records.while_off", "samples.while_off", "idle.polled_ns",
    "idle.polls",    "idle.skipped_polls",    kSkippedBadKey,      kSkippedUnknownKey};

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// The META lines at the beginning of an input, and the first record after them.
struct InputHeader {
  std::vector<std::pair<std::string, std::string>> meta;
  // The first record that is not META; nullopt if the input ends before such a record.
  std::optional<profile::Record> next;
  Recordings recordings;

  [[nodiscard]] std::string_view text(std::string_view key) const {
    const auto found = std::find_if(meta.begin(), meta.end(), [key](const auto& line) { return line.first == key; });
    return found == meta.end() ? std::string_view() : std::string_view(found->second);
  }
  [[nodiscard]] std::optional<uint64_t> value(std::string_view key) const { return whole_number(text(key)); }
  [[nodiscard]] profile::SliceGrid grid() const;
};

Result<InputHeader> read_header(profile::Reader& reader);

// Like read_header(), but keeps only the META lines about the clock, and closes the input. open_again() opens it later.
Result<InputHeader> read_clock_header(const MergeInput& input);

// Opens the input's file again and reads its complete header. Fails if the clock differs from read_clock_header()'s.
Status open_again(MergeInput& input, InputHeader& header);

struct MergeClock {
  uint64_t start_ns = 0;
  std::optional<uint64_t> start_unix_ns;
  profile::SliceGrid grid;  // its long slices begin with the first ones of all inputs
};

struct ClockShift {
  Int128 ns = 0;
  uint64_t later_ns = 0;   // how long after the clock's start the input starts
  uint64_t slices = 0;     // in short slices
  profile::SliceGrid own;  // the input's
  profile::SliceGrid grid;

  static constexpr Int128 kMost = std::numeric_limits<uint64_t>::max();

  [[nodiscard]] bool exceeds(uint64_t ns_then) const { return Int128{ns_then} + ns > kMost; }
  [[nodiscard]] uint64_t time(uint64_t ns_then) const {
    return static_cast<uint64_t>(std::clamp(Int128{ns_then} + ns, Int128{0}, kMost));
  }
  [[nodiscard]] uint64_t time_or_unknown(uint64_t ns_then) const { return ns_then == 0 ? 0 : time(ns_then); }
  // Returns the slice of the result that has the middle of this slice. nullopt: its number exceeds 64 bits.
  [[nodiscard]] std::optional<uint64_t> slice(uint64_t slice_then) const;
  // Returns how far work in this slice is from its true place, if slice() puts it into `slice_now`.
  [[nodiscard]] uint64_t error_ns(uint64_t slice_then, uint64_t slice_now) const;
};

Result<MergeClock> common_clock(const std::vector<MergeInput>& inputs, const std::vector<InputHeader>& headers);
ClockShift shift_of(const InputHeader& header, const MergeClock& clock);

}  // namespace gpuprof::analyze
