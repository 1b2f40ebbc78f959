#include "output/picture/svg_text.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text/utf8.h"
#include "output/json_stream.h"

namespace gpuprof::output {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

constexpr size_t kLeastColumns = 5;  // labels that are cut to fewer columns are not readable

// Returns the number of bytes that one U+FFFD replaces: the first byte of an invalid sequence and the continuation
// bytes after it.
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
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    switch (c) {
      case ':':
      case '#':
        out += !begins_ci_command(text, at) ? std::string_view(&c, 1) : c == ':' ? "&#58;" : "&#35;";
        break;
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
  const std::string json = json_text(Json(text));
  for (size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    switch (c) {
      case '#':
        out += begins_ci_command(json, at) ? "\\u0023" : "#";
        break;
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
  size_t keep = 0;  // number of bytes that fit if one column is reserved for the ellipsis
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

}  // namespace gpuprof::output
