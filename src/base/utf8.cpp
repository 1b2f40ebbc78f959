#include "base/utf8.h"

#include <array>
#include <cstdint>

namespace gpuprof {
namespace {

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

// Bytes to step over for one character, well-formed or not.
size_t step(std::string_view text) {
  const size_t n = utf8_sequence(text);
  return n == 0 ? 1 : n;
}

}  // namespace

size_t utf8_sequence(std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) {
    return 1;
  }
  size_t length = 0;
  uint32_t code = 0;
  uint32_t smallest = 0;
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
    return 0;
  }
  if (text.size() < length) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) {
      return 0;
    }
    code = (code << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < smallest || code > 0x10FFFF || surrogate ? 0 : length;
}

void append_hex_escape(unsigned char byte, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\x";
  out += kDigits[byte >> 4U];
  out += kDigits[byte & 0x0FU];
}

void append_escaped(std::string_view text, std::string_view also, std::string& out) {
  // Which ASCII bytes need an escape is looked up, since nearly every byte is one that does not.
  std::array<bool, 128> special{};
  for (size_t i = 0; i < 0x20; ++i) {
    special[i] = true;
  }
  special[0x7F] = true;
  for (const char c : also) {
    special[static_cast<unsigned char>(c) & 0x7FU] = true;
  }
  size_t plain = 0;  // what lies between here and `at` is copied as it is
  size_t at = 0;
  while (at < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80 && !special[byte]) {
      ++at;
      continue;
    }
    const size_t sequence = byte < 0x80 ? 0 : utf8_sequence(text.substr(at));
    if (sequence > 0) {
      at += sequence;
      continue;
    }
    out.append(text.substr(plain, at - plain));
    append_hex_escape(byte, out);
    plain = ++at;
  }
  out.append(text.substr(plain));
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
