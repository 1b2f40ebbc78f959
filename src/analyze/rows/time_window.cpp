#include "analyze/rows/time_window.h"

#include <algorithm>

#include "base/exit_status.h"
#include "base/saturating_add.h"
#include "base/text/numbers.h"

namespace gpuprof::analyze {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr size_t kDecimals = 9;

// Clamps to the maximum on overflow.
uint64_t product(uint64_t slices, uint64_t interval_ns) {
  uint64_t ns = 0;
  return __builtin_mul_overflow(slices, interval_ns, &ns) ? std::numeric_limits<uint64_t>::max() : ns;
}

}  // namespace

SliceRange slices_of(const TimeWindow& window, const profile::SliceGrid& grid) {
  SliceRange slices{.first = grid.slice_at(window.from_ns)};
  if (window.has_end()) {
    slices.last = grid.slice_at(window.to_ns - 1);
  }
  return slices;
}

TimeWindow window_of(const SliceRange& slices, const profile::SliceGrid& grid) {
  TimeWindow window{.from_ns = product(slices.first, grid.interval_ns)};
  if (slices.last != std::numeric_limits<uint64_t>::max()) {
    window.to_ns = product(saturating_add(slices.last, grid.width(slices.last)), grid.interval_ns);
  }
  return window;
}

std::vector<profile::Window> windows_in(const std::vector<profile::Window>& windows, const TimeWindow& window,
                                        uint64_t start_ns) {
  const auto absolute = [start_ns](uint64_t ns) {
    uint64_t sum = 0;
    return __builtin_add_overflow(ns, start_ns, &sum) ? std::numeric_limits<uint64_t>::max() : sum;
  };
  // Slice 0 also includes what happened before the start of the recording.
  const uint64_t from = window.from_ns == 0 ? 0 : absolute(window.from_ns);
  const uint64_t to = absolute(window.to_ns);
  std::vector<profile::Window> parts;
  for (const profile::Window& one : windows) {
    const profile::Window part{std::max(one.start_ns, from), std::min(one.end_ns, to), one.weight};
    if (part.start_ns < part.end_ns) {
      parts.push_back(part);
    }
  }
  return parts;
}

std::optional<Error> not_recorded(const std::vector<profile::Window>& windows, const TimeWindow& selected,
                                  uint64_t start_ns) {
  if (windows.empty() || !windows_in(windows, selected, start_ns).empty()) {
    return std::nullopt;
  }
  uint64_t first = std::numeric_limits<uint64_t>::max();
  uint64_t last = 0;
  for (const profile::Window& window : windows) {
    first = std::min(first, window.start_ns);
    last = std::max(last, window.end_ns);
  }
  const auto since_start = [start_ns](uint64_t ns) { return duration_text(ns - std::min(ns, start_ns)); };
  return Error{"nothing was recorded " + window_text(selected),
               "the recorded time is from " + since_start(first) + " to " + since_start(last) +
                   (windows.size() > 1 ? ", with pauses" : ""),
               kExitNothing};
}

std::string exact_seconds(uint64_t ns) {
  std::string text = std::to_string(ns / kSecondNs);
  if (const uint64_t rest = ns % kSecondNs; rest > 0) {
    std::string digits = std::to_string(rest);
    digits.insert(0, kDecimals - digits.size(), '0');
    text += "." + digits.substr(0, digits.find_last_not_of('0') + 1);
  }
  return text + "s";
}

std::string slice_lengths(const profile::SliceGrid& grid) {
  const std::string first = exact_seconds(grid.interval_ns);
  return grid.has_long() ? first + ", from " + exact_seconds(product(grid.first_long, grid.interval_ns)) + " on " +
                               exact_seconds(product(grid.long_width, grid.interval_ns))
                         : first;
}

std::string window_options(const TimeWindow& window) {
  std::string text = window.from_ns > 0 || !window.has_end() ? "--from " + exact_seconds(window.from_ns) : "";
  if (window.has_end()) {
    text.append(text.empty() ? "" : " ").append("--to ").append(exact_seconds(window.to_ns));
  }
  return text;
}

std::string window_text(const TimeWindow& window) {
  const std::string from = "from " + exact_seconds(window.from_ns);
  return window.has_end() ? from + " to " + exact_seconds(window.to_ns) : from + " on";
}

std::optional<TimeWindow> read_window_text(std::string_view text) {
  constexpr std::string_view kFrom = "from ";
  constexpr std::string_view kTo = " to ";
  if (!text.starts_with(kFrom)) {
    return std::nullopt;
  }
  text.remove_prefix(kFrom.size());
  const size_t middle = text.find(kTo);
  const auto from = parse_duration(text.substr(0, middle));
  if (middle == std::string_view::npos || !from) {
    return std::nullopt;
  }
  text.remove_prefix(middle + kTo.size());
  const auto to = parse_duration(text.substr(0, text.find(',')));
  return to && *from < *to ? std::optional(TimeWindow{*from, *to}) : std::nullopt;
}

}  // namespace gpuprof::analyze
