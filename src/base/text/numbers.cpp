#include "base/text/numbers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace gpuprof {
namespace {

__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): __extension__ needs a typedef

// Returns value / unit, rounded to the nearest integer; halves are rounded up.
Wide rounded(Wide value, uint64_t unit) {
  return (2 * value + unit) / (Wide{2} * unit);
}

// Formats scaled / 10^decimals: (123, 2) becomes "1.23".
std::string with_decimals(Wide scaled, int decimals) {
  std::string text;
  for (int digits = 0; scaled > 0 || digits <= decimals; ++digits) {
    text.append(digits > 0 && digits == decimals ? "." : "");
    text += static_cast<char>('0' + static_cast<int>(scaled % 10));
    scaled /= 10;
  }
  std::reverse(text.begin(), text.end());
  return text;
}

// Formats value / unit with three digits ("1.23", "45.6", "789"), or more if it is larger ("1,234").
std::string three_digits(uint64_t value, uint64_t unit) {
  constexpr Wide kEnd = 1000;
  if (const Wide hundredths = rounded(Wide{value} * 100, unit); hundredths < kEnd) {
    return with_decimals(hundredths, 2);
  }
  if (const Wide tenths = rounded(Wide{value} * 10, unit); tenths < kEnd) {
    return with_decimals(tenths, 1);
  }
  return count_text(static_cast<uint64_t>(rounded(value, unit)));
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

std::string counted_text(uint64_t count, std::string_view singular) {
  return count_text(count).append(" ").append(count == 1 ? std::string(singular) : plural_text(singular));
}

std::string plural_text(std::string_view singular) {
  return std::string(singular).append(singular.ends_with("ch") || singular.ends_with("s") ? "es" : "s");
}

std::string_view is_or_are(uint64_t count) {
  return count == 1 ? "is" : "are";
}

std::string short_count_text(uint64_t count) {
  constexpr std::array<std::string_view, 4> kUnits{"k", "M", "G", "T"};
  if (count < 10'000) {
    return std::to_string(count);
  }
  uint64_t unit = 1'000;
  size_t which = 0;
  for (; which + 1 < kUnits.size() && rounded(count, unit) >= 1'000; ++which) {
    unit *= 1'000;
  }
  const Wide tenths = rounded(Wide{count} * 10, unit);
  return (tenths < 100 ? with_decimals(tenths, 1) : with_decimals(rounded(count, unit), 0)).append(kUnits[which]);
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
  while (which + 1 < kUnits.size() && rounded(bytes, unit) >= 1'024) {
    unit *= 1'024;
    ++which;
  }
  return three_digits(bytes, unit).append(kUnits[which]);
}

std::string percent_text(uint64_t part, uint64_t whole) {
  return with_decimals(whole == 0 ? Wide{0} : rounded(Wide{part} * 10'000, whole), 2) + "%";
}

std::string percent_digits_down(uint64_t part, uint64_t whole, int decimals) {
  uint64_t one = 1;
  for (int i = 0; i < decimals; ++i) {
    one *= 10;
  }
  const Wide scaled = whole == 0 ? Wide{0} : Wide{std::min(part, whole)} * 100 * one / whole;
  return with_decimals(whole > 0 && part > 0 ? std::max(scaled, Wide{1}) : scaled, decimals);
}

std::string percent_text_down(uint64_t part, uint64_t whole) {
  return percent_digits_down(part, whole, 2) + "%";
}

std::string percent_text_up(uint64_t part, uint64_t whole) {
  constexpr Wide kAll = 10'000;
  const Wide up = whole == 0 ? Wide{0} : (Wide{part} * kAll + whole - 1) / whole;
  return with_decimals(part < whole ? std::min(up, kAll - 1) : up, 2) + "%";
}

std::optional<uint64_t> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    uint64_t ns;
  };
  constexpr Unit kUnits[] = {{"ns", 1},
                             {"us", 1'000},
                             {"ms", 1'000'000},
                             {"s", 1'000'000'000},
                             {"m", 60'000'000'000},
                             {"h", 3'600'000'000'000}};
  const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view unit = text.substr(end);
  uint64_t factor = unit.empty() ? 1'000'000'000 : 0;
  for (const Unit& known : kUnits) {
    factor = unit == known.name ? known.ns : factor;
  }
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + end, number);
  if (factor == 0 || error != std::errc() || stop != text.data() + end) {
    return std::nullopt;
  }
  const double ns = number * static_cast<double>(factor);
  return ns < 9e18 ? std::optional(static_cast<uint64_t>(std::llround(ns))) : std::nullopt;
}

}  // namespace gpuprof
