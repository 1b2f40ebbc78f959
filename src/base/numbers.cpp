#include "base/numbers.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace gpuprof {
namespace {

std::string with_decimals(double value, int decimals) {
  std::array<char, 48> text{};  // 2^64 percent of one have 22 digits before the point
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

// value / unit: "1.23", "45.6", "789", "1,234".
std::string three_digits(uint64_t value, uint64_t unit) {
  const double scaled = static_cast<double>(value) / static_cast<double>(unit);
  if (scaled >= 999.5) {
    return count_text(value / unit + (value % unit >= unit / 2 + unit % 2 ? 1 : 0));
  }
  return with_decimals(scaled, scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0);
}

}  // namespace

std::string count_text(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string short_count_text(uint64_t count) {
  constexpr std::array<std::string_view, 4> kUnits{"k", "M", "G", "T"};
  if (count < 10'000) {
    return std::to_string(count);
  }
  double value = static_cast<double>(count) / 1000;
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) {
    value /= 1000;
  }
  return with_decimals(value, value < 9.95 ? 1 : 0).append(kUnits[unit]);
}

std::string duration_text(uint64_t ns) {
  if (ns < 1'000) {
    return std::to_string(ns) + " ns";
  }
  if (ns < 999'500) {
    return three_digits(ns, 1'000) + " us";
  }
  if (ns < 999'500'000) {
    return three_digits(ns, 1'000'000) + " ms";
  }
  return three_digits(ns, 1'000'000'000) + " s";
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1'024) {
    return std::to_string(bytes) + " B";
  }
  static constexpr std::array<std::string_view, 4> kUnits{" KiB", " MiB", " GiB", " TiB"};
  uint64_t unit = 1'024;
  size_t which = 0;
  while (which + 1 < kUnits.size() && bytes / unit >= 1'024) {
    unit *= 1'024;
    ++which;
  }
  return three_digits(bytes, unit).append(kUnits[which]);
}

std::string percent_text(uint64_t part, uint64_t whole) {
  return with_decimals(whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole), 2) + "%";
}

std::string percent_digits_down(uint64_t part, uint64_t whole, int decimals) {
  __extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): __extension__ needs a typedef
  uint64_t one = 1;
  for (int i = 0; i < decimals; ++i) {
    one *= 10;
  }
  const Wide scaled = whole == 0 ? Wide{0} : Wide{std::min(part, whole)} * 100 * one / whole;
  std::string digits = std::to_string(static_cast<uint64_t>(scaled));
  const auto behind = static_cast<size_t>(decimals);
  digits.insert(0, behind + 1 - std::min(behind + 1, digits.size()), '0');
  return decimals == 0 ? digits : digits.insert(digits.size() - behind, 1, '.');
}

std::string percent_text_down(uint64_t part, uint64_t whole) {
  return percent_digits_down(part, whole, 2) + "%";
}

}  // namespace gpuprof
