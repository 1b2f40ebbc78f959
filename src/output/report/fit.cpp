#include "output/report/fit.h"

#include <cstddef>
#include <vector>

namespace gpuprof::output {
namespace {

constexpr size_t kTop = 3;

template <typename Line>
bool shorten(std::vector<Line>& table, size_t kept) {
  if (table.size() <= kept) {
    return false;
  }
  table.pop_back();
  return true;
}

}  // namespace

bool give_up_line(analyze::Summary& summary) {
  return shorten(summary.allocations, 1) || shorten(summary.waits, 1) || shorten(summary.host_work, kTop) ||
         shorten(summary.sample_places, kTop) || shorten(summary.sample_reasons, kTop) ||
         shorten(summary.sampled_work, kTop) || shorten(summary.ranks, kTop) || shorten(summary.call_paths, 2) ||
         shorten(summary.functions, kTop) || shorten(summary.work, kTop) || shorten(summary.groups, kTop) ||
         shorten(summary.call_paths, 1);
}

}  // namespace gpuprof::output
