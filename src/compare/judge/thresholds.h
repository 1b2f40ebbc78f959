// A small file that users commit beside their code: what may become slower, by how much, why and until when.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuprof::compare {

struct Threshold {
  std::string glob;     // of a kernel's name, of a function in its call path, or kTotal; * and ? are special
  double percent = 0;   // that it may be slower
  std::string expires;  // "2027-01-31", the last day on which it holds; empty: for ever
  std::string reason;   // never empty
  unsigned line = 0;    // of the file, for messages
};

inline constexpr std::string_view kTotal = "[total]";

struct Thresholds {
  std::string file;
  std::vector<Threshold> entries;  // in the file's order; the first whose glob matches counts

  [[nodiscard]] const Threshold* find(std::string_view name) const;  // nullptr: none matches

  // That entry, where it lets `name` become slower by as much.
  [[nodiscard]] const Threshold* allowing(std::string_view name, double percent) const;
};

// * is any text, ? any one byte. Takes time in proportion to both lengths.
bool glob_matches(std::string_view glob, std::string_view name);

// `today` as "2026-11-23": an entry that has expired is left out and named in `expired`.
Result<Thresholds> parse_thresholds(std::string_view text, std::string file, std::string_view today,
                                    std::vector<std::string>& expired);

}  // namespace gpuprof::compare
