#include "base/text/utf8.h"

#include <algorithm>
#include <array>

namespace gpuprof {
namespace {

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

// Returns the number of bytes of the first character. A malformed character has 1.
size_t step(std::string_view text) {
  const size_t n = utf8_sequence(text);
  return n == 0 ? 1 : n;
}

// Returns whether `text` ends with white space that append_escaped() keeps.
bool ends_with_space(std::string_view text) {
  constexpr size_t kLongestSpace = 3;
  for (size_t size = 1; size <= std::min(text.size(), kLongestSpace); ++size) {
    const Utf8Character last = utf8_decode(text.substr(text.size() - size));
    if (last.size == size) {
      return last.code == 0x20 || last.code == 0xA0 || last.code == 0x1680 ||
             (last.code >= 0x2000 && last.code <= 0x200A) || last.code == 0x202F || last.code == 0x205F ||
             last.code == 0x3000;
    }
  }
  return false;
}

}  // namespace

Utf8Character utf8_decode(std::string_view text) {
  if (text.empty()) {
    return {};
  }
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) {
    return {lead, 1};
  }
  size_t length = 0;
  char32_t code = 0;
  char32_t smallest = 0;
  if ((lead & 0xE0U) == 0xC0U) {
    length = 2;
    code = lead & 0x1FU;
    smallest = 0x80;
  } else if ((lead & 0xF0U) == 0xE0U) {
    length = 3;
    code = lead & 0x0FU;
    smallest = 0x800;
  } else if ((lead & 0xF8U) == 0xF0U) {
    length = 4;
    code = lead & 0x07U;
    smallest = 0x10000;
  } else {
    return {};
  }
  if (text.size() < length) {
    return {};
  }
  for (size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) {
      return {};
    }
    code = (code << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < smallest || code > 0x10FFFF || surrogate) {
    return {};
  }
  return {code, length};
}

size_t utf8_sequence(std::string_view text) {
  return utf8_decode(text).size;
}

bool is_deceptive(char32_t code) {
  struct Range {
    char32_t first;
    char32_t last;
  };
  // U+200C and U+200D (joiners) are not in the list, because Persian, Indic scripts and emoji need them.
  static constexpr std::array<Range, 12> kDeceptive{{
      {0x00, 0x1F},        // C0 controls
      {0x7F, 0x9F},        // delete; C1 controls, such as U+009B, which begins an escape sequence
      {0xAD, 0xAD},        // soft hyphen
      {0x61C, 0x61C},      // Arabic letter mark
      {0x180E, 0x180E},    // Mongolian vowel separator
      {0x200B, 0x200B},    // zero width space
      {0x200E, 0x200F},    // left-to-right and right-to-left mark
      {0x2028, 0x202E},    // line and paragraph separator, bidirectional embeddings and overrides
      {0x2060, 0x206F},    // word joiner, invisible operators, bidirectional isolates
      {0xFEFF, 0xFEFF},    // byte order mark
      {0xFFF9, 0xFFFB},    // interlinear annotation
      {0xE0000, 0xE007F},  // tags
  }};
  return std::any_of(kDeceptive.begin(), kDeceptive.end(),
                     [code](const Range& range) { return code >= range.first && code <= range.last; });
}

bool begins_ci_command(std::string_view text, size_t at) {
  const std::string_view from = text.substr(at, 3);
  if (from.starts_with(':')) {
    return from.size() == 1 ? text.find_first_not_of(' ') == at
                            : from[1] == ':' && (at == 0 || ends_with_space(text.substr(0, at)));
  }
  return from == "##[" || from == "##";
}

void append_hex_escape(unsigned char byte, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\x";
  out += kDigits[byte >> 4U];
  out += kDigits[byte & 0x0FU];
}

void append_escaped(std::string_view text, std::string_view also, std::string& out) {
  // Nearly all bytes are ASCII and need no escape. For these, one lookup in the table is enough.
  std::array<bool, 128> special{};
  for (unsigned char byte = 0; byte < 0x80; ++byte) {
    special[byte] = byte < 0x20 || byte == 0x7F;
  }
  for (const char c : also) {
    special[static_cast<unsigned char>(c) & 0x7FU] = true;
  }
  const auto is_plain = [&](unsigned char byte, size_t position) {
    return !special[byte] && ((byte != ':' && byte != '#') || !begins_ci_command(text, position));
  };
  size_t plain = 0;  // start of the bytes that need no escape, up to `at`
  size_t at = 0;
  while (at < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80 && is_plain(byte, at)) {
      ++at;
      continue;
    }
    const Utf8Character character = byte < 0x80 ? Utf8Character{} : utf8_decode(text.substr(at));
    if (character.size > 0 && !is_deceptive(character.code)) {
      at += character.size;
      continue;
    }
    out.append(text.substr(plain, at - plain));
    plain = at + std::max<size_t>(character.size, 1);
    for (; at < plain; ++at) {
      append_hex_escape(static_cast<unsigned char>(text[at]), out);
    }
  }
  out.append(text.substr(plain));
}

std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(text, {}, out);
  return out;
}

size_t utf8_length(std::string_view text) {
  size_t characters = 0;
  for (size_t at = 0; at < text.size(); at += step(text.substr(at))) {
    ++characters;
  }
  return characters;
}

std::string cut_middle(std::string_view text, size_t width) {
  constexpr std::string_view kCut = "...";
  const size_t length = utf8_length(text);
  if (length <= width) {
    return std::string(text);
  }
  if (width <= kCut.size()) {
    return std::string(kCut.substr(0, width));
  }
  const size_t kept = width - kCut.size();
  const size_t head = (kept + 1) / 2;
  const size_t tail_from = length - (kept - head);
  std::string out;
  size_t character = 0;
  for (size_t at = 0; at < text.size(); ++character) {
    const size_t n = step(text.substr(at));
    if (character == head) {
      out += kCut;
    }
    if (character < head || character >= tail_from) {
      out.append(text.substr(at, n));
    }
    at += n;
  }
  return out;
}

}  // namespace gpuprof
