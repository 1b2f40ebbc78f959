// Finds launches of a kernel that moved from one caller to another.
#include <algorithm>
#include <cstddef>

#include "compare/pairs/line_matcher.h"

namespace gpuprof::compare {
namespace {

// Minimum relative change of a path's launches. A smaller change may only mean one more iteration of a loop.
constexpr double kLeastChange = 0.1;
// Minimum share of a path's change that other paths of its kernel must offset.
constexpr double kLeastMoved = 0.5;

struct Shift {
  double change = 0;  // launches per run: new minus old
  bool matters = false;
};

Shift shift_of(const PathLine& path, size_t old_runs) {
  const auto middle = path.costs.begin() + static_cast<std::ptrdiff_t>(old_runs);
  const auto by_count = [](const Cost& a, const Cost& b) { return a.count < b.count; };
  const auto mean = [](auto begin, auto end) {
    double sum = 0;
    for (auto cost = begin; cost != end; ++cost) {
      sum += static_cast<double>(cost->count);
    }
    return sum / static_cast<double>(std::max<std::ptrdiff_t>(end - begin, 1));
  };
  const double before = mean(path.costs.begin(), middle);
  const double after = mean(middle, path.costs.end());
  Shift shift{.change = after - before};
  const bool is_known = !path.functions.empty();  // false: without a CPU stack, its launches may be of any path
  if (!is_known || middle == path.costs.begin() || middle == path.costs.end()) {
    return shift;
  }
  // True if all runs of one side have more launches than all runs of the other.
  const auto [old_least, old_most] = std::minmax_element(path.costs.begin(), middle, by_count);
  const auto [new_least, new_most] = std::minmax_element(middle, path.costs.end(), by_count);
  const bool apart = new_least->count > old_most->count || new_most->count < old_least->count;
  shift.matters = apart && std::abs(shift.change) >= kLeastChange * std::max(before, after);
  return shift;
}

}  // namespace

void mark_moved(Comparison& all) {
  struct Flow {
    double gained = 0;
    double lost = 0;
  };
  std::vector<Flow> flows(all.kernels.size());
  std::vector<Shift> shifts;
  shifts.reserve(all.paths.size());
  for (const PathLine& path : all.paths) {
    const Shift& shift = shifts.emplace_back(shift_of(path, all.old_runs));
    if (shift.matters) {
      (shift.change > 0 ? flows[path.kernel].gained : flows[path.kernel].lost) += std::abs(shift.change);
    }
  }
  for (size_t at = 0; at < all.paths.size(); ++at) {
    const Flow& flow = flows[all.paths[at].kernel];
    const double own = shifts[at].change > 0 ? flow.gained : flow.lost;
    const double other = shifts[at].change > 0 ? flow.lost : flow.gained;
    if (shifts[at].matters && other >= kLeastMoved * own) {
      all.paths[at].change = Change::moved;
    }
  }
}

}  // namespace gpuprof::compare
