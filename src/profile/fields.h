// Parses the fields of one line, from left to right. Internal to the reader.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "profile/records.h"

namespace gpuprof::profile {

// Every function parses the next field. It returns false and sets reason() if the field is missing or malformed. In
// memory, a '\n' or '\r' must follow the line, because the loops over digits do not check for its end.
class Fields {
 public:
  // If has_fields, `begin` is the byte after the ';' that ends the kind. `escaped` says that values may contain \xHH.
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
    // A number of up to 19 digits can not overflow. slow_number() parses all others.
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
  bool offset(std::string_view field, uint64_t& out);        // hexadecimal with 0x, or decimal
  bool text(std::string_view field, std::string_view& out);  // unescapes the field in place
  bool rest(std::string_view field, std::string_view& out);  // takes the rest of the line, and keeps escapes
  bool word(std::string_view field, std::string_view& out);  // takes the text up to the next ';', and keeps escapes
  bool element(StackElement& out);
  bool done();  // returns true if no field is left

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
  // Returns the end of the next field and sets `begin` to its start. Returns null if no field is left.
  char* take(std::string_view field, char*& begin);
  [[nodiscard]] bool ends_field(const char* p) const { return p == end_ || *p == ';'; }
  void step_over(const char* p) { at_ = p == end_ ? nullptr : at_ + (p - at_) + 1; }

  char* at_;  // null after the last field
  char* end_;
  bool escaped_;
  std::string reason_;
};

}  // namespace gpuprof::profile
