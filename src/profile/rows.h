// The lines that come by the million and hold nothing but numbers: taken many at a time. Internal to the reader.
#pragma once

#include <string_view>

#include "profile/records.h"

namespace gpuprof::profile {

inline constexpr std::string_view kGpuRow = "GPU;";
inline constexpr std::string_view kEuStallRow = "EUSTALL;";
inline constexpr std::string_view kShareRow = "SHARE;";

// Takes the line at `begin`, which is behind its kind's ';', where it is as a writer writes it and what parse_line()
// checks holds. Returns the beginning of the next line. Null where the line is to be looked at by parse_line().
// NumberRow::kSlack bytes behind `limit` must be readable.
const char* take_row(const char* begin, const char* limit, Gpu& out);
const char* take_row(const char* begin, const char* limit, EuStall& out);
const char* take_row(const char* begin, const char* limit, Share& out);

}  // namespace gpuprof::profile
