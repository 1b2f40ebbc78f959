// Parses lines that consist of numbers, many bytes at a time. Internal to the reader.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gpuprof::profile {

// Parses numbers in the form that Writer gives them. If take() or last() returns false, parse the line with Fields,
// which accepts all valid lines.
class NumberRow {
 public:
  // The memory must be readable for this many bytes after `limit`. Their values do not matter.
  static constexpr size_t kSlack = 64 + sizeof(uint64_t);

  // `begin` is the first digit. The newline that ends the line must be before `limit`.
  NumberRow(const char* begin, const char* limit)
      : at_(begin), limit_(limit), block_(begin), ends_(non_digits(begin)) {}

  // Like the functions below, this is inlined into the loop over the fields of a row, so that the state stays in
  // registers.
  template <typename Number>
  [[gnu::always_inline]] bool take(Number& out) {
    return number(';', out);
  }
  template <typename Number>
  [[gnu::always_inline]] bool last(Number& out) {
    return number('\n', out);
  }

  [[nodiscard]] const char* at() const { return at_; }

 private:
  static constexpr size_t kBlock = 64;

  // `Number` has 32 bits (ids), 64 or 128. Returns false if the number does not fit. With 128 bits, it also returns
  // false for a number of more than 64 bits, which the caller parses with Fields.
  template <typename Number>
  [[gnu::always_inline]] bool number(char end_byte, Number& out) {
    uint64_t value = 0;
    const bool taken = field(end_byte, value);
    out = static_cast<Number>(value);
    return taken && (sizeof(Number) > sizeof(uint32_t) || value <= UINT32_MAX);
  }

  [[gnu::always_inline]] bool field(char end_byte, uint64_t& out) {
    while (ends_ == 0) {
      block_ += kBlock;
      if (block_ >= limit_) {
        return false;
      }
      ends_ = non_digits(block_);
    }
    const char* const end = block_ + std::countr_zero(ends_);
    ends_ &= ends_ - 1;
    if (end >= limit_ || *end != end_byte) {
      return false;
    }
    const auto size = static_cast<size_t>(end - at_);
    const char* const begin = at_;
    at_ = end + 1;
    if (size - 1 < 8) {
      out = short_number(begin, size);
      return true;
    }
    return long_number(begin, size, out);
  }

  // Returns a mask for 64 bytes. A bit is set if its byte is not a digit.
  static uint64_t non_digits(const char* p) {
    uint64_t mask = 0;
#if defined(__SSE2__)
    for (unsigned at = 0; at < kBlock; at += 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + at));
      // Changes '0' to the smallest signed byte. Then the digits are the ten smallest values, and one comparison
      // finds them.
      const __m128i shifted = _mm_add_epi8(bytes, _mm_set1_epi8(static_cast<char>(0x80 - '0')));
      const __m128i odd = _mm_cmpgt_epi8(shifted, _mm_set1_epi8(static_cast<char>(0x80 + 9)));
      mask |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(odd))} << at;
    }
#else
    for (unsigned at = 0; at < kBlock; ++at) {
      mask |= uint64_t{static_cast<unsigned char>(p[at] - '0') > 9} << at;
    }
#endif
    return mask;
  }

  [[gnu::always_inline]] static uint64_t load(const char* p) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, p, sizeof bytes);
    return std::endian::native == std::endian::little ? bytes : __builtin_bswap64(bytes);
  }

  // Parses eight digits. The first one is in the lowest byte. Joins them to pairs, the pairs to groups of four, and
  // these to a number.
  [[gnu::always_inline]] static uint64_t join_digits(uint64_t digits) {
    constexpr uint64_t kPairs = 10 * 0x100 + 1;
    constexpr uint64_t kFours = 100 * 0x10000 + 1;
    constexpr uint64_t kAll = 10000 * 0x100000000 + 1;
    digits = (digits * kPairs >> 8U) & 0x00FF00FF00FF00FF;
    digits = (digits * kFours >> 16U) & 0x0000FFFF0000FFFF;
    return digits * kAll >> 32U;
  }

  static constexpr uint64_t kZeros = 0x3030303030303030;

  [[gnu::always_inline]] static uint64_t short_number(const char* p, size_t size) {
    return join_digits((load(p) ^ kZeros) << (64 - 8 * size));
  }

  static bool long_number(const char* p, size_t size, uint64_t& out) {
    if (size == 0 || size > 19) {
      return false;
    }
    const size_t first = size - 8 - (size > 16 ? 8 : 0);
    out = short_number(p, first);
    for (p += first; size > first; size -= 8, p += 8) {
      out = out * 100'000'000 + join_digits(load(p) ^ kZeros);
    }
    return true;
  }

  const char* at_;
  const char* limit_;
  const char* block_;
  // Bit i is set if byte i of the block is a separator after a field that was not taken yet.
  uint64_t ends_;
};

}  // namespace gpuprof::profile
