#include "base/text/hex.h"

#include <sys/random.h>

#include <string_view>
#include <vector>

namespace gpuprof {

std::string hex_text(std::span<const uint8_t> bytes) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) {
    text += kHexDigits[byte >> 4U];
    text += kHexDigits[byte & 15U];
  }
  return text;
}

std::string random_hex(size_t digits) {
  std::vector<uint8_t> bytes((digits + 1) / 2);
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return {};
  }
  std::string text = hex_text(bytes);
  text.resize(digits);
  return text;
}

}  // namespace gpuprof
