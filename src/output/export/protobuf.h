// Encodes protocol buffers, with only the field types that the exports need.
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gpuprof::output {

class Protobuf {
 public:
  explicit Protobuf(std::string& out) : out_(out) {}

  // Writes a number of any type except double, float, fixed and zigzag. Omits 0, the default of a missing field.
  void number(uint32_t field, uint64_t value) {
    if (value != 0) {
      present(field, value);
    }
  }
  // Like number(), but also writes 0. Use it for elements of repeated fields and for members of a oneof.
  void present(uint32_t field, uint64_t value) {
    varint(uint64_t{field} << 3U);
    varint(value);
  }
  void bytes(uint32_t field, std::string_view value) {
    begin(field, value.size());
    out_.append(value);
  }
  template <typename Put>
  void message(uint32_t field, Put put) {
    std::string fields;
    Protobuf inner(fields);
    put(inner);
    bytes(field, fields);
  }
  // Writes the head of a field that begins with its length. The caller appends the `size` bytes of the field.
  void begin(uint32_t field, size_t size) {
    varint((uint64_t{field} << 3U) | kLengthDelimited);
    varint(size);
  }
  void fixed64(uint32_t field, uint64_t value) {
    varint((uint64_t{field} << 3U) | kFixed64);
    for (unsigned shift = 0; shift < 64; shift += 8) {
      out_ += static_cast<char>(value >> shift);
    }
  }
  void packed(uint32_t field, std::span<const uint64_t> values) {
    size_t size = 0;
    for (const uint64_t value : values) {
      size += varint_size(value);
    }
    varint((uint64_t{field} << 3U) | kLengthDelimited);
    varint(size);
    for (const uint64_t value : values) {
      varint(value);
    }
  }

  void varint(uint64_t value) {
    std::array<char, kLongestVarint> bytes;  // not initialized, because only the first `size` bytes are used
    size_t size = 0;
    for (; value >= 0x80U; value >>= 7U) {
      bytes[size++] = static_cast<char>((value & 0x7FU) | 0x80U);
    }
    bytes[size++] = static_cast<char>(value);
    out_.append(bytes.data(), size);
  }

 private:
  static constexpr size_t kLongestVarint = 10;
  static constexpr uint64_t kFixed64 = 1;
  static constexpr uint64_t kLengthDelimited = 2;

  static size_t varint_size(uint64_t value) {
    size_t size = 1;
    while (value >= 0x80U) {
      value >>= 7U;
      ++size;
    }
    return size;
  }

  std::string& out_;
};

}  // namespace gpuprof::output
