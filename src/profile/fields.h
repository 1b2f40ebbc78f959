// Takes the fields of one line, from left to right. Internal to the reader.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "profile/records.h"

namespace gpuprof::profile {

// Every function takes the next field and returns false, with reason() set, when it is not there or not well-formed.
// The line must be followed by a byte that is not a digit ('\n' or '\r'), so that digits need no bounds check.
class Fields {
 public:
  // `line` begins after the kind's ';' ("has_fields"), or the line is the kind alone. `escaped`: values hold \xHH.
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
    // 19 digits can not overflow; anything odd is looked at again, slowly.
    if (p == at_ || p - at_ > kSafeDigits || !ends_field(p)) {
      return slow_number(field, out);
    }
    out = value;
    step_over(p);
    return true;
  }

  // 32 bits: an id, too.
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
  bool rest(std::string_view field, std::string_view& out);  // all that is left of the line, as it is
  bool word(std::string_view field, std::string_view& out);  // up to the next ';', as it is
  bool element(StackElement& out);                           // of a USTACK or KSTACK
  bool done();                                               // no field is left

  [[nodiscard]] bool at_end() const { return at_ == nullptr; }
  [[nodiscard]] bool empty_to_end() const { return at_ == end_; }  // one field is left, and it is empty
  bool fail(std::string_view field, std::string_view what);
  bool fail(std::string_view what);
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  static constexpr int kSafeDigits = 19;

  bool missing(std::string_view field);
  bool slow_number(std::string_view field, uint64_t& out);
  bool hexadecimal(std::string_view field, std::string_view digits, uint64_t& out);
  bool unescape(std::string_view field, char* begin, char* end, std::string_view& out);
  char* take(std::string_view field, char*& begin);  // the end of the next field; null where there is none
  [[nodiscard]] bool ends_field(const char* p) const { return p == end_ || *p == ';'; }
  void step_over(const char* p) { at_ = p == end_ ? nullptr : at_ + (p - at_) + 1; }

  char* at_;  // null when the last field is taken
  char* end_;
  bool escaped_;
  std::string reason_;
};

}  // namespace gpuprof::profile
