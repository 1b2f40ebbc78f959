// The time slices of a recording: short ones at its beginning, and long ones if it goes on for longer.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/text/numbers.h"

namespace gpuprof::profile {

// A slice has the number of the short slice with which it begins. So the numbers of long slices are multiples of
// `long_width`.
struct SliceGrid {
  uint64_t interval_ns = 0;          // length of a short slice; 0: unknown
  uint64_t first_long = UINT64_MAX;  // number of the first long slice, a multiple of `long_width`
  uint64_t long_width = 1;           // length of a long slice, in short slices

  bool operator==(const SliceGrid&) const = default;

  [[nodiscard]] bool has_long() const { return first_long != UINT64_MAX; }
  [[nodiscard]] uint64_t width(uint64_t slice) const { return slice < first_long ? 1 : long_width; }
  // Returns the slice that has the short slice with this number.
  [[nodiscard]] uint64_t slice_with(uint64_t number) const { return number - number % width(number); }
  // Returns the slice at a time since the start of the recording. Needs a known interval_ns.
  [[nodiscard]] uint64_t slice_at(uint64_t ns) const { return slice_with(ns / interval_ns); }
};

// Reads the META lines that describe the slices. They come in the order of these keys.
class SliceGridReader {
 public:
  static constexpr std::string_view kLongFrom = "long_from_ns";
  static constexpr std::string_view kLongInterval = "long_interval_ns";
  static constexpr std::string_view kInterval = "interval_ns";

  // Returns true if the line completes the description. Ignores all lines after the first usable `interval_ns`.
  bool take(std::string_view key, std::string_view value) {
    if (grid_.interval_ns != 0) {
      return false;
    }
    if (key == kLongFrom) {
      long_from_ns_ = whole_number(value).value_or(UINT64_MAX);
    } else if (key == kLongInterval) {
      long_interval_ns_ = whole_number(value).value_or(0);
    } else if (key == kInterval) {
      grid_ = grid_of(whole_number(value).value_or(0), long_from_ns_, long_interval_ns_);
      return grid_.interval_ns != 0;
    }
    return false;
  }
  [[nodiscard]] const SliceGrid& grid() const { return grid_; }

  // Long slices have at most this many short ones, so that readers can double a number of slices until it is larger.
  static constexpr uint64_t kMostWidth = uint64_t{1} << 32U;

  // Ignores a length of long slices that is 0, is no multiple of the short one, or exceeds kMostWidth.
  static SliceGrid grid_of(uint64_t interval_ns, uint64_t long_from_ns, uint64_t long_interval_ns) {
    SliceGrid grid{.interval_ns = interval_ns};
    if (interval_ns != 0 && long_from_ns != UINT64_MAX && long_interval_ns > interval_ns &&
        long_interval_ns % interval_ns == 0 && long_interval_ns / interval_ns <= kMostWidth) {
      grid.long_width = long_interval_ns / interval_ns;
      grid.first_long = long_from_ns / long_interval_ns * grid.long_width;
    }
    return grid;
  }

 private:
  SliceGrid grid_;
  uint64_t long_from_ns_ = UINT64_MAX;
  uint64_t long_interval_ns_ = 0;
};

}  // namespace gpuprof::profile
