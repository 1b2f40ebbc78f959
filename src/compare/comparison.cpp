#include "compare/comparison.h"

#include "compare/pairs/line_matcher.h"

namespace gpuprof::compare {
namespace {

// Each step also uses the matches that the steps before it found.
void match(LineMatcher& lines) {
  lines.join({}, match_functions_by_name(lines), Match::normalized);
  lines.join(match_kernels_by_name(lines, SharedFunctions(lines)), {}, Match::normalized);
  lines.join(match_kernels_by_callers(lines, SharedFunctions(lines)), {}, Match::assigned);
  lines.join({}, match_functions_by_position(lines, match_paths(lines, SharedFunctions(lines))), Match::assigned);
  lines.join_paths(match_paths(lines, SharedFunctions(lines)));
}

}  // namespace

Comparison compare(std::span<const Run> old_runs, std::span<const Run> new_runs) {
  Comparison all;
  all.old_runs = old_runs.size();
  LineMatcher lines(old_runs.size(), new_runs.size());
  for (const std::span<const Run> side : {old_runs, new_runs}) {
    for (const Run& run : side) {
      lines.add(run, all.runs.size());
      all.runs.push_back(&run.facts);
      all.totals.push_back(run.total);
    }
  }
  if (!old_runs.empty() && !new_runs.empty()) {
    match(lines);
  }
  lines.finish(all);
  mark_moved(all);
  return all;
}

analyze::Percentiles percentiles_of(const Comparison& all, const KernelLine& kernel, size_t side) {
  uint64_t count = 0;
  for (size_t run = 0; run < kernel.costs.size(); ++run) {
    count += (run < all.old_runs) == (side == 0) ? kernel.costs[run].count : 0;
  }
  return kernel.durations[side].percentiles(count, 0, UINT64_MAX);
}

}  // namespace gpuprof::compare
