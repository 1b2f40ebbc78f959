#include "symbolize/reading_budget.h"

#include <algorithm>

#include "base/clock.h"

namespace gpuprof::symbolize {

uint64_t ReadingBudget::take_part(uint64_t& used, uint64_t limit, uint64_t wanted, uint64_t& left_out) {
  const uint64_t given = std::min(wanted, limit - used);
  used += given;
  left_out += given < wanted ? 1 : 0;
  return given;
}

bool ReadingBudget::take_whole(uint64_t& used, uint64_t limit, uint64_t wanted, uint64_t& left_out) {
  if (wanted > limit - used) {
    ++left_out;
    return false;
  }
  used += wanted;
  return true;
}

bool ReadingBudget::add_perf_map_function() {
  if (perf_map_functions_ >= limits_.perf_map_functions) {
    return false;
  }
  ++perf_map_functions_;
  return true;
}

bool ReadingBudget::may_download() {
  const bool may = download_ns_ < limits_.download_ns;
  left_out_.downloads += may ? 0 : 1;
  return may;
}

bool ReadingBudget::in_time() const {
  const uint64_t end = end_ns_;
  const uint64_t now = end == UINT64_MAX ? 0 : monotonic_ns();
  return now <= end || now - end < limits_.time_after_end_ns + download_ns_;
}

}  // namespace gpuprof::symbolize
