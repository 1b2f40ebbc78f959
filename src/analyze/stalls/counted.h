// What the hardware counted at instructions, by source line, beside what it would have been at best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text/pattern.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

enum class CountedKind : uint8_t {
  excess,      // `reference` is the least that the same accesses could have taken: sectors, wavefronts
  divergence,  // `reference` is all executions of branches, of which `value` had threads that went different ways
  threads,     // `reference` is what `value` would be if all 32 threads of each warp took part
  plain        // no reference
};

struct CountedRow {
  std::string_view function;  // of GPU code
  std::string_view file;      // empty: its module does not say
  uint32_t line = 0;
  uint64_t value = 0;
  uint64_t reference = 0;
};

struct CountedTable {
  CountedKind kind = CountedKind::plain;
  std::string_view metric;       // the vendor's name of what `value` counts
  std::vector<CountedRow> rows;  // worst first
  size_t found = 0;
};

// Of functions that match (null: all); at most so many rows a table (0: all).
std::vector<CountedTable> counted_tables(const profile::Tables& tables, const Pattern* kernel, size_t most);

}  // namespace gpuprof::analyze
