// Reads the thresholds file that users commit: what may become slower, by how much, why and until when.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuprof::compare {

struct Threshold {
  std::string glob;     // matches a kernel, a function in its call path, or kTotal; supports * and ?
  double percent = 0;   // allowed slowdown
  std::string expires;  // last valid day, "2027-01-31"; empty: no limit
  std::string reason;   // not empty
  unsigned line = 0;    // line number in the file, for messages
};

inline constexpr std::string_view kTotal = "[total]";

struct Thresholds {
  std::string file;
  std::vector<Threshold> entries;  // in the order of the file; the first match applies

  [[nodiscard]] const Threshold* find(std::string_view name) const;  // nullptr: no match

  // Returns the entry of find() if it allows a slowdown of `percent` for `name`; otherwise nullptr.
  [[nodiscard]] const Threshold* allowing(std::string_view name, double percent) const;
};

// * matches any text, ? one byte. Takes time proportional to the product of both lengths.
bool glob_matches(std::string_view glob, std::string_view name);

// Parses the file. Leaves out entries that expired before `today` ("2026-11-23"), and lists them in `expired`.
Result<Thresholds> parse_thresholds(std::string_view text, std::string file, std::string_view today,
                                    std::vector<std::string>& expired);

}  // namespace gpuprof::compare
