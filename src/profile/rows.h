// The lines that come by the million and hold nothing but numbers: taken many at a time. Internal to the reader.
#pragma once

#include <tuple>

#include "profile/number_row.h"
#include "profile/parse.h"
#include "profile/record_fields.h"

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

// Takes the line at `begin`, which is behind its kind's ';', if a writer could have written it and what parse_line()
// checks holds. Returns the beginning of the next line, or null: parse_line() has to look at this one.
// NumberRow::kSlack bytes behind `limit` must be readable.
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
