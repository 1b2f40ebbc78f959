// What a test knows of readelf's tables of rules.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace gpuprof::unwind {

// A rule as a row of readelf shows it.
struct ReadelfRule {
  std::string text;
  std::optional<uint64_t> rule;  // nullopt for "exp": readelf does not show the expression
  bool may_end = false;          // readelf does not tell this rule from END
};

inline std::optional<int64_t> number_after(const std::string& text, const std::string& prefix) {
  if (text.compare(0, prefix.size(), prefix) != 0) {
    return std::nullopt;
  }
  return std::strtoll(text.c_str() + prefix.size(), nullptr, 10);
}

// Each processor has its own definition of these. `cfa`, `fp`, `ra`: columns of a row; "u" for a column that is
// missing.
extern const char* const readelf_fp;
ReadelfRule readelf_rule(const std::string& cfa, const std::string& fp, const std::string& ra);

}  // namespace gpuprof::unwind
