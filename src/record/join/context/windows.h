// Stores the intervals in which recording was on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "profile/records.h"

namespace gpuprof::record {

class Windows {
 public:
  // `at` may be in the future. The work of the window counts `weight` times.
  void open(uint64_t at, uint64_t weight = 1) { windows_.push_back({at, UINT64_MAX, weight}); }
  void close(uint64_t at) {
    if (is_open()) {
      windows_.back().end_ns = std::max(at, windows_.back().start_ns);
      closed_.push_back(windows_.back());
    }
  }

  [[nodiscard]] bool is_open() const { return !windows_.empty() && windows_.back().end_ns == UINT64_MAX; }
  // Returns the window that contains this time, or null. The next call of open() makes the pointer invalid.
  [[nodiscard]] const profile::Window* at(uint64_t ns) const {
    const auto window =
        std::find_if(windows_.rbegin(), windows_.rend(), [ns](const auto& one) { return one.start_ns <= ns; });
    return window != windows_.rend() && ns < window->end_ns ? &*window : nullptr;
  }
  [[nodiscard]] bool contains(uint64_t ns) const { return at(ns) != nullptr; }
  // Returns how much of [begin, end) was recorded.
  [[nodiscard]] uint64_t recorded(uint64_t begin, uint64_t end) const {
    uint64_t sum = 0;
    for (auto window = windows_.rbegin(); window != windows_.rend() && window->end_ns > begin; ++window) {
      const uint64_t from = std::max(begin, window->start_ns);
      const uint64_t to = std::min(end, window->end_ns);
      sum += to > from ? to - from : 0;
    }
    return sum;
  }
  // Returns the start of the window that is open, or 0 if none is.
  [[nodiscard]] uint64_t open_since() const { return is_open() ? windows_.back().start_ns : 0; }
  // Returns the start of the first window, or 0 if there was no window.
  [[nodiscard]] uint64_t begin() const { return windows_.empty() ? 0 : windows_.front().start_ns; }
  // Returns the end of the last window: UINT64_MAX if that window is still open, 0 if there was no window.
  [[nodiscard]] uint64_t end() const { return windows_.empty() ? 0 : windows_.back().end_ns; }

  [[nodiscard]] size_t count() const { return windows_.size(); }

  std::vector<profile::Window> take_new() { return std::exchange(closed_, {}); }

 private:
  std::vector<profile::Window> windows_;  // in order, without overlap
  std::vector<profile::Window> closed_;
};

}  // namespace gpuprof::record
