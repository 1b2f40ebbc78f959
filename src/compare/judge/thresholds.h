// Reads the thresholds file that users commit: what may become slower, by how much, why and until when.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuprof::compare {

struct Threshold {
  std::string glob;     // pattern for a kernel, for a function in its call path, or kTotal; * and ? are wildcards
  double percent = 0;   // allowed slowdown
  std::string expires;  // last day on which the entry is valid, such as "2027-01-31"; empty if it never expires
  std::string reason;   // why the user allows the slowdown; not empty
  unsigned line = 0;    // line of the file, for messages
};

inline constexpr std::string_view kTotal = "[total]";

struct Thresholds {
  std::string file;
  std::vector<Threshold> entries;  // in the order of the file; the first match applies

  // Returns the first entry that matches the name or its short form, which outputs show. nullptr if none matches.
  [[nodiscard]] const Threshold* find(std::string_view name) const;

  // Returns find(name) if that entry allows a slowdown of `percent`; otherwise nullptr.
  [[nodiscard]] const Threshold* allowing(std::string_view name, double percent) const;
};

// * matches any text, ? one byte. Takes time proportional to the product of both lengths.
bool glob_matches(std::string_view glob, std::string_view name);

// Parses the file. Leaves out the entries that expired before `today` (such as "2026-11-23"), and lists them in
// `expired`.
Result<Thresholds> parse_thresholds(std::string_view text, std::string file, std::string_view today,
                                    std::vector<std::string>& expired);

}  // namespace gpuprof::compare
