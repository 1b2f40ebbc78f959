#include "output/svg_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace gpuprof::output {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

constexpr size_t kLeastColumns = 5;  // of a cut label

// Bytes that stand for one character that is none: a first byte takes the bytes along that would go on with it.
size_t bad_sequence(std::string_view bytes) {
  constexpr size_t kLongest = 4;
  size_t size = 1;
  if (static_cast<unsigned char>(bytes[0]) >= 0xC0) {
    while (size < std::min(bytes.size(), kLongest) && (static_cast<unsigned char>(bytes[size]) & 0xC0U) == 0x80U) {
      ++size;
    }
  }
  return size;
}

size_t columns_of(char32_t code) {
  struct Range {
    char32_t first;
    char32_t last;
  };
  static constexpr std::array<Range, 7> kWide{{{0x1100, 0x115F},
                                               {0x2E80, 0xA4CF},
                                               {0xAC00, 0xD7A3},
                                               {0xF900, 0xFAFF},
                                               {0xFE30, 0xFE6F},
                                               {0xFF00, 0xFF60},
                                               {0x1F300, 0x3FFFD}}};
  const auto holds = [code](const Range& range) { return code >= range.first && code <= range.last; };
  return std::any_of(kWide.begin(), kWide.end(), holds) ? 2 : 1;
}

// value / unit with three significant digits at least, e.g. "1.23", "45.6", "789", "1,234".
std::string three_digits(uint64_t value, uint64_t unit) {
  const double scaled = static_cast<double>(value) / static_cast<double>(unit);
  if (scaled >= 999.5) return grouped(value / unit + (value % unit >= unit / 2 + unit % 2 ? 1 : 0));
  std::array<char, 32> text{};
  const int decimals = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
  std::snprintf(text.data(), text.size(), "%.*f", decimals, scaled);
  return text.data();
}

}  // namespace

std::string printable(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Character got = utf8_decode(bytes);
    if (got.size == 0 || got.code == 0xFFFE || got.code == 0xFFFF) {
      out += kReplacement;
    } else if (got.code == '\n' || got.code == '\t' || got.code == '\r') {
      out += ' ';
    } else if (!is_deceptive(got.code)) {
      out += bytes.substr(0, got.size);
    }
    bytes.remove_prefix(got.size > 0 ? got.size : bad_sequence(bytes));
  }
  return out;
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string json_quoted(std::string_view text) {
  std::string out;
  for (const char c : nlohmann::json(text).dump()) {
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string cut_to_columns(std::string_view text, size_t columns) {
  size_t used = 0;
  size_t keep = 0;  // bytes that leave a column for the ellipsis
  for (size_t at = 0; at < text.size();) {
    const Utf8Character got = utf8_decode(text.substr(at));
    used += columns_of(got.code);
    at += std::max<size_t>(got.size, 1);
    if (used + 1 <= columns) keep = at;
    if (used > columns) {
      if (columns < kLeastColumns) return {};
      return std::string(text.substr(0, keep)).append(kEllipsis);
    }
  }
  return std::string(text);
}

std::string cut_to_bytes(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  size_t keep = bytes < kEllipsis.size() ? 0 : bytes - kEllipsis.size();
  while (keep > 0 && (static_cast<unsigned char>(text[keep]) & 0xC0) == 0x80) --keep;
  return std::string(text.substr(0, keep)).append(kEllipsis);
}

std::string grouped(uint64_t value) {
  std::string digits = std::to_string(value);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string readable_duration(uint64_t ns) {
  if (ns < 1'000) return std::to_string(ns) + " ns";
  if (ns < 999'500) return three_digits(ns, 1'000) + " us";
  if (ns < 999'500'000) return three_digits(ns, 1'000'000) + " ms";
  return three_digits(ns, 1'000'000'000) + " s";
}

std::string readable_bytes(uint64_t bytes) {
  if (bytes < 1'024) return std::to_string(bytes) + " B";
  static constexpr std::array<std::string_view, 4> kUnits{" KiB", " MiB", " GiB", " TiB"};
  uint64_t unit = 1'024;
  size_t which = 0;
  while (which + 1 < kUnits.size() && bytes / unit >= 1'024) {
    unit *= 1'024;
    ++which;
  }
  return three_digits(bytes, unit).append(kUnits[which]);
}

std::string percent(uint64_t part, uint64_t whole) {
  std::array<char, 32> text{};
  const double share = whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  std::snprintf(text.data(), text.size(), "%.2f%%", share);
  return text.data();
}

}  // namespace gpuprof::output
