// Parses the lines of frequent kinds that consist of numbers, many at a time. Internal to the reader.
#pragma once

#include <tuple>

#include "profile/parse.h"
#include "profile/record_fields.h"
#include "profile/rows/number_row.h"

namespace gpuprof::profile {

constexpr bool is_good_row(const Gpu& row) {
  return is_plausible(row);
}
constexpr bool is_good_row(const EuStall& row) {
  return row.flags <= kSampleEstimated;
}
constexpr bool is_good_row(const Share& /*row*/) {
  return true;
}

// Parses the line whose first field starts at `begin`, and returns the start of the next line. Returns null if Writer
// would not write such a line, or if it fails the checks of parse_line(). Then the caller must call parse_line(). The
// memory must be readable for NumberRow::kSlack bytes after `limit`.
template <typename Row>
const char* take_row(const char* begin, const char* limit, Row& out) {
  NumberRow row(begin, limit);
  size_t left = std::tuple_size_v<decltype(kLayout<Row>.fields)>;
  const bool taken = for_each_field(
      out, [&](const auto& /*field*/, auto& value)
               __attribute__((always_inline)) { return --left > 0 ? row.take(value) : row.last(value); });
  return taken && is_good_row(out) ? row.at() : nullptr;
}

}  // namespace gpuprof::profile
