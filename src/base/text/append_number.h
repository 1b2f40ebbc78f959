// Appends numbers to large outputs, without a temporary string for each.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace gpuprof {

inline constexpr size_t kMostDigits = 20;

inline constexpr std::array<uint64_t, kMostDigits> kPowersOfTen = [] {
  std::array<uint64_t, kMostDigits> powers{1};
  for (size_t i = 1; i < powers.size(); ++i) {
    powers[i] = 10 * powers[i - 1];
  }
  return powers;
}();

inline constexpr std::array<char, 200> kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

// Writes the digits to `at` and returns their end. `at` must have space for kMostDigits.
[[gnu::always_inline]] inline char* put_digits(char* at, uint64_t value) {
  // 1233 / 4096 is nearly log10(2), so the result is at most one digit too small.
  const size_t fewest = static_cast<size_t>(std::bit_width(value | 1U)) * 1233 >> 12U;
  char* const end = at + fewest + (fewest == 0 || value >= kPowersOfTen[fewest] ? 1 : 0);
  char* first = end;
  for (; value >= 100; value /= 100) {
    first -= 2;
    std::memcpy(first, &kDigitPairs[2 * (value % 100)], 2);
  }
  if (value >= 10) {
    std::memcpy(first - 2, &kDigitPairs[2 * value], 2);
  } else {
    *--first = static_cast<char>('0' + value);
  }
  return end;
}

inline void append_number(uint64_t value, std::string& out) {
  std::array<char, kMostDigits> digits;
  out.append(digits.data(), static_cast<size_t>(put_digits(digits.data(), value) - digits.data()));
}

}  // namespace gpuprof
