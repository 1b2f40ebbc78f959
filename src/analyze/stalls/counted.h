// Reports what the hardware counted at instructions, by source line, next to the best possible value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text/pattern.h"
#include "profile/tables.h"

namespace gpuprof::analyze {

enum class CountedKind : uint8_t {
  excess,      // `value` is sectors or wavefronts, `reference` the minimum that the same accesses need
  divergence,  // `value` is divergent branches, `reference` all executed branches
  threads,     // `reference` is what `value` would be if all 32 threads of each warp had taken part
  plain        // `value` has no reference
};

struct CountedRow {
  std::string_view function;
  std::string_view file;
  uint32_t line = 0;
  uint64_t value = 0;
  uint64_t reference = 0;
};

struct CountedTable {
  CountedKind kind = CountedKind::plain;
  std::string_view metric;  // the vendor's name of the metric
  // The worst row first. `excess` and `threads` compare the distances from `reference`, the other kinds the values.
  std::vector<CountedRow> rows;
  size_t found = 0;
};

// Returns tables for the functions that match `kernel` (null: all functions). Each has at most `most` rows (0:
// unlimited).
std::vector<CountedTable> counted_tables(const profile::Tables& tables, const Pattern* kernel, size_t most);

}  // namespace gpuprof::analyze
