// A stretch of a recording, and the time slices that it is made of.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace gpuprof::analyze {

// Both since the start of the recording.
struct TimeWindow {
  uint64_t from_ns = 0;
  uint64_t to_ns = std::numeric_limits<uint64_t>::max();

  [[nodiscard]] bool has_end() const { return to_ns != std::numeric_limits<uint64_t>::max(); }
};

// The slices from `first` to `last`, both included.
struct SliceRange {
  uint64_t first = 0;
  uint64_t last = std::numeric_limits<uint64_t>::max();

  [[nodiscard]] bool has(uint64_t slice) const { return first <= slice && slice <= last; }
};

// Those that a part of the window lies in. `interval_ns` is not 0, and the window begins before it ends.
SliceRange slices_of(const TimeWindow& window, uint64_t interval_ns);

// What the slices last, as a window that is as long or longer.
TimeWindow window_of(const SliceRange& slices, uint64_t interval_ns);

// "12.4s": a time as options take it, to the nanosecond.
std::string exact_seconds(uint64_t ns);

// "from 2s to 3.5s", "from 2s on" where it has no end.
std::string window_text(const TimeWindow& window);

}  // namespace gpuprof::analyze
