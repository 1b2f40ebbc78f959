// Time ranges of a recording, in ns and in slices.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/records.h"
#include "profile/slice_grid.h"

namespace gpuprof::analyze {

// Times since the start of the recording.
struct TimeWindow {
  uint64_t from_ns = 0;
  uint64_t to_ns = std::numeric_limits<uint64_t>::max();

  [[nodiscard]] bool has_end() const { return to_ns != std::numeric_limits<uint64_t>::max(); }
};

// The slices from `first` to `last`, inclusive.
struct SliceRange {
  uint64_t first = 0;
  uint64_t last = std::numeric_limits<uint64_t>::max();

  [[nodiscard]] bool has(uint64_t slice) const { return first <= slice && slice <= last; }
};

// Returns the slices that overlap the window. The grid must be known, and the window must not be empty.
SliceRange slices_of(const TimeWindow& window, const profile::SliceGrid& grid);

// Returns the time of the slices. For slices_of(window), the result contains that window.
TimeWindow window_of(const SliceRange& slices, const profile::SliceGrid& grid);

// Returns the parts of recording windows that lie in `window`, for a recording that began at `start_ns`.
std::vector<profile::Window> windows_in(const std::vector<profile::Window>& windows, const TimeWindow& window,
                                        uint64_t start_ns);

// Returns an error such as "nothing was recorded from 2s to 4s" if none of `windows` overlaps the selection. Returns
// nullopt if a window does, or if `windows` is empty.
std::optional<Error> not_recorded(const std::vector<profile::Window>& windows, const TimeWindow& selected,
                                  uint64_t start_ns);

// Returns a time as options accept it, such as "12.4s", without rounding.
std::string exact_seconds(uint64_t ns);

// Returns "0.1s", or "0.1s, from 60s on 1s".
std::string slice_lengths(const profile::SliceGrid& grid);

// Returns "--from 2s --to 3.5s", without --from 0s if the window has an end.
std::string window_options(const TimeWindow& window);

// Returns "from 2s to 3.5s", or "from 2s on" without an end.
std::string window_text(const TimeWindow& window);

// Reads a text that begins like window_text(). Returns nullopt for other texts.
std::optional<TimeWindow> read_window_text(std::string_view text);

}  // namespace gpuprof::analyze
