#include "compare/difference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace gpuprof::compare {
namespace {

uint64_t whole(double value) {
  constexpr double kMost = 9.2e18;  // the difference of two values of at most this size fits 64 bits
  return value <= 0 ? 0 : static_cast<uint64_t>(std::llround(std::min(value, kMost)));
}

int64_t whole_signed(double value) {
  return value < 0 ? -static_cast<int64_t>(whole(-value)) : static_cast<int64_t>(whole(value));
}

SideCost side_of(std::span<const Cost> runs, bool timed) {
  SideCost side;
  if (runs.empty()) {
    return side;
  }
  double ns = 0;
  double count = 0;
  side.least = UINT64_MAX;
  for (const Cost& cost : runs) {
    const uint64_t value = timed ? cost.ns : cost.count;
    side.least = std::min(side.least, value);
    side.most = std::max(side.most, value);
    ns += static_cast<double>(cost.ns);
    count += static_cast<double>(cost.count);
  }
  const auto n = static_cast<double>(runs.size());
  // The value of a single run is used exactly, without a conversion to double.
  side.value = runs.size() == 1 ? std::min<uint64_t>(side.most, INT64_MAX) : whole((timed ? ns : count) / n);
  side.count = count / n;
  side.mean_ns = timed && count > 0 ? ns / count : 0;
  return side;
}

}  // namespace

double Difference::percent() const {
  return before.value == 0 ? 0 : 100 * static_cast<double>(change) / static_cast<double>(before.value);
}

Difference difference_of(const std::vector<Cost>& costs, size_t old_runs, bool timed) {
  Difference all;
  all.before = side_of(std::span(costs).first(old_runs), timed);
  all.after = side_of(std::span(costs).subspan(old_runs), timed);
  all.change = static_cast<int64_t>(all.after.value) - static_cast<int64_t>(all.before.value);
  const bool one_side = all.before.count <= 0 || all.after.count <= 0;
  split_change(
      all, !timed || one_side ? all.change : whole_signed((all.after.count - all.before.count) * all.before.mean_ns));
  return all;
}

void split_change(Difference& line, int64_t by_launches) {
  line.by_launches = by_launches;
  if (__builtin_sub_overflow(line.change, by_launches, &line.by_duration)) {
    // Only a forged profile, with centuries of GPU time, overflows. Then the split of the change does not matter.
    line.by_launches = line.change;
    line.by_duration = 0;
  }
}

void compare_new_line(Difference& line, double old_mean_ns) {
  split_change(line, whole_signed(line.after.count * old_mean_ns));
}

}  // namespace gpuprof::compare
