// Reads numbers from untrusted bytes. A read past the end returns 0 and makes ok() false.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpuprof::unwind {

class Cursor {
 public:
  Cursor() = default;
  // `address`: the address of the first byte in memory.
  Cursor(const uint8_t* begin, const uint8_t* end, uint64_t address) : at_(begin), end_(end), address_(address) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return at_ == end_; }
  [[nodiscard]] size_t left() const { return static_cast<size_t>(end_ - at_); }
  [[nodiscard]] const uint8_t* data() const { return at_; }
  [[nodiscard]] const uint8_t* end() const { return end_; }
  [[nodiscard]] uint64_t address() const { return address_; }

  void fail() {
    ok_ = false;
    skip_all();
  }

  void skip(uint64_t size) {
    if (size > left()) {
      fail();
      return;
    }
    at_ += size;
    address_ += size;
  }

  Cursor take(uint64_t size) {
    Cursor part(at_, at_, address_);
    if (size > left()) {
      part.ok_ = false;
    } else {
      part.end_ = at_ + size;
    }
    skip(size);
    return part;
  }

  template <typename T>
  T number() {
    T value{};
    if (sizeof value > left()) {
      fail();
      return value;
    }
    std::memcpy(&value, at_, sizeof value);
    skip(sizeof value);
    return value;
  }

  // Drops bits above the 64th, because no valid number has them.
  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; ok_; shift += 7) {
      const auto byte = number<uint8_t>();
      value |= shift < 64 ? uint64_t{byte & 0x7fU} << shift : 0;
      if ((byte & 0x80U) == 0) {
        break;
      }
    }
    return value;
  }

  int64_t sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; ok_;) {
      const auto byte = number<uint8_t>();
      value |= shift < 64 ? uint64_t{byte & 0x7fU} << shift : 0;
      shift = shift < 64 ? shift + 7 : shift;
      if ((byte & 0x80U) == 0) {
        value |= (byte & 0x40U) != 0 && shift < 64 ? ~uint64_t{0} << shift : 0;
        break;
      }
    }
    return static_cast<int64_t>(value);
  }

 private:
  void skip_all() {
    address_ += left();
    at_ = end_;
  }

  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  uint64_t address_ = 0;
  bool ok_ = true;
};

}  // namespace gpuprof::unwind
