// Takes the fields of one line, from left to right. Internal to the reader.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "profile/records.h"

namespace gpuprof::profile {

// Every function takes the next field. It returns false and sets reason() if the field is missing or malformed. A '\n'
// or '\r' must follow the line in memory, because the loops over digits have no bounds check.
class Fields {
 public:
  // If has_fields, `begin` is the byte after the ';' that ends the kind. `escaped`: values may hold \xHH.
  Fields(char* begin, char* end, bool has_fields, bool escaped)
      : at_(has_fields ? begin : nullptr), end_(end), escaped_(escaped) {}

  [[gnu::always_inline]] bool number(std::string_view field, uint64_t& out) {
    if (at_ == nullptr) {
      return missing(field);
    }
    const char* p = at_;
    uint64_t value = 0;
    unsigned digit = 0;
    while ((digit = static_cast<unsigned>(static_cast<unsigned char>(*p)) - '0') <= 9) {
      value = value * 10 + digit;
      ++p;
    }
    // 19 digits can not overflow. slow_number() parses everything else.
    if (p == at_ || p - at_ > kSafeDigits || !ends_field(p)) {
      return slow_number(field, out);
    }
    out = value;
    step_over(p);
    return true;
  }

  template <typename Narrow>
  requires(sizeof(Narrow) == sizeof(uint32_t)) [[gnu::always_inline]] bool number(std::string_view field, Narrow& out) {
    uint64_t value = 0;
    if (!number(field, value)) {
      return false;
    }
    out = static_cast<Narrow>(value);
    return value <= std::numeric_limits<uint32_t>::max() || fail(field, "is too large");
  }

  bool wide(std::string_view field, Uint128& out);
  bool offset(std::string_view field, uint64_t& out);        // 0x and hexadecimal digits, or decimal
  bool text(std::string_view field, std::string_view& out);  // unescaped in place
  bool rest(std::string_view field, std::string_view& out);  // the rest of the line; keeps escapes
  bool word(std::string_view field, std::string_view& out);  // up to the next ';'; keeps escapes
  bool element(StackElement& out);                           // an element of a USTACK or KSTACK
  bool done();                                               // succeeds if no field is left

  [[nodiscard]] bool at_end() const { return at_ == nullptr; }
  [[nodiscard]] bool empty_to_end() const { return at_ == end_; }  // exactly one field is left, and it is empty
  bool fail(std::string_view field, std::string_view what);
  bool fail(std::string_view what);
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  static constexpr int kSafeDigits = 19;

  bool missing(std::string_view field);
  bool slow_number(std::string_view field, uint64_t& out);
  bool hexadecimal(std::string_view field, std::string_view digits, uint64_t& out);
  bool unescape(std::string_view field, char* begin, char* end, std::string_view& out);
  char* take(std::string_view field, char*& begin);  // returns the end of the next field; null if no field is left
  [[nodiscard]] bool ends_field(const char* p) const { return p == end_ || *p == ';'; }
  void step_over(const char* p) { at_ = p == end_ ? nullptr : at_ + (p - at_) + 1; }

  char* at_;  // null after the last field was taken
  char* end_;
  bool escaped_;
  std::string reason_;
};

}  // namespace gpuprof::profile
