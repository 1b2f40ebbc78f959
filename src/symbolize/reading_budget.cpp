#include "symbolize/reading_budget.h"

#include <algorithm>

#include "base/clock.h"

namespace gpuprof::symbolize {
namespace {

constexpr uint64_t kBusyMachine = 4;    // ReadingLimits::time_after_end_ns explains it
constexpr uint64_t kSymbolMemory = 48;  // bytes per symbol, for the two copies that exist while a table is shrunk

}  // namespace

ReadingLimits ReadingLimits::halved(uint64_t times) const {
  ReadingLimits less = *this;
  for (uint64_t* limit : {&less.checksum_bytes, &less.debug_info_bytes, &less.others_debug_info_bytes, &less.symbols}) {
    *limit = times < 64 ? *limit >> times : 0;
  }
  return less;
}

uint64_t ReadingBudget::take_part(uint64_t& used, uint64_t limit, uint64_t wanted, uint64_t most, uint64_t& left_out) {
  const uint64_t given = std::min({wanted, limit - used, most});
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

// Grants at most half of the free memory, because the string of names exists twice while it grows.
uint64_t ReadingBudget::take_perf_map(uint64_t wanted) {
  return take_part(perf_map_bytes_, limits_.perf_map_bytes, wanted, room() / 2, left_out_.perf_maps);
}

uint64_t ReadingBudget::take_symbols(uint64_t wanted) {
  return take_part(symbols_, limits_.symbols, wanted, room() / kSymbolMemory, left_out_.symbol_tables);
}

bool ReadingBudget::may_take_debug_info(uint64_t peak, uint64_t kept, bool trusted) {
  const bool may = kept <= limits_.debug_info_bytes - debug_info_bytes_ && peak <= room() &&
                   (trusted || kept <= limits_.others_debug_info_bytes - others_debug_info_bytes_);
  left_out_.debug_infos += may ? 0 : 1;
  return may;
}

bool ReadingBudget::take_debug_info(uint64_t bytes, bool trusted) {
  if (!may_take_debug_info(bytes, bytes, trusted)) {
    return false;
  }
  debug_info_bytes_ += bytes;
  others_debug_info_bytes_ += trusted ? 0 : bytes;
  return true;
}

bool ReadingBudget::add_perf_map_function() {
  if (perf_map_functions_ >= limits_.perf_map_functions) {
    return false;
  }
  ++perf_map_functions_;
  return true;
}

void ReadingBudget::leave_out_more(const LeftOut& before, const LeftOut& now) {
  left_out_.debug_links += now.debug_links - std::min(before.debug_links, now.debug_links);
  left_out_.debug_infos += now.debug_infos - std::min(before.debug_infos, now.debug_infos);
  left_out_.symbol_tables += now.symbol_tables - std::min(before.symbol_tables, now.symbol_tables);
}

bool ReadingBudget::may_download() {
  const bool may = download_ns_ < limits_.download_ns;
  left_out_.downloads += may ? 0 : 1;
  return may;
}

bool ReadingBudget::in_time() const {
  const uint64_t end = end_ns_;
  const uint64_t now = end == UINT64_MAX ? 0 : monotonic_ns();
  if (now >= latest_ns_) {
    return false;
  }
  const uint64_t limit = limits_.time_after_end_ns;
  const uint64_t passed = now <= end ? 0 : now - end;
  return passed < limit + download_ns_ ||
         (passed < kBusyMachine * limit + download_ns_ && own_cpu_ns() - end_cpu_ns_ < limit);
}

}  // namespace gpuprof::symbolize
