#include "profile/fields.h"

#include <cstring>

namespace gpuprof::profile {
namespace {

constexpr std::string_view kHexadecimal = "0x";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string quoted(std::string_view field) {
  return std::string("field '").append(field).append("'");
}

template <typename Number>
bool parse_checked(std::string_view digits, Number& out) {
  Number value = 0;
  for (const char c : digits) {
    const auto digit = static_cast<unsigned>(c - '0');
    if (__builtin_mul_overflow(value, Number{10}, &value) || __builtin_add_overflow(value, Number{digit}, &value)) {
      return false;
    }
  }
  out = value;
  return true;
}

}  // namespace

bool Fields::fail(std::string_view field, std::string_view what) {
  reason_ = quoted(field).append(" ").append(what);
  return false;
}

bool Fields::fail(std::string_view what) {
  reason_ = what;
  return false;
}

bool Fields::missing(std::string_view field) {
  return fail(field, "is missing");
}

char* Fields::take(std::string_view field, char*& begin) {
  if (at_ == nullptr) {
    missing(field);
    return nullptr;
  }
  begin = at_;
  auto* const found = static_cast<char*>(std::memchr(at_, ';', static_cast<size_t>(end_ - at_)));
  char* const end = found == nullptr ? end_ : found;
  step_over(end);
  return end;
}

bool Fields::word(std::string_view field, std::string_view& out) {
  char* begin = nullptr;
  const char* const end = take(field, begin);
  if (end == nullptr) {
    return false;
  }
  out = std::string_view(begin, static_cast<size_t>(end - begin));
  return true;
}

bool Fields::slow_number(std::string_view field, uint64_t& out) {
  std::string_view digits;
  if (!word(field, digits)) {
    return false;
  }
  if (digits.empty()) {
    return fail(field, "is empty");
  }
  if (digits.front() == '-' && all_digits(digits.substr(1))) {
    return fail(field, "is negative");
  }
  if (!all_digits(digits)) {
    return fail(field, "is not a number");
  }
  return parse_checked(digits, out) || fail(field, "is too large");
}

bool Fields::wide(std::string_view field, Uint128& out) {
  if (at_ == nullptr) {
    return missing(field);
  }
  const char* p = at_;
  uint64_t value = 0;
  for (; *p >= '0' && *p <= '9'; ++p) {
    value = value * 10 + static_cast<unsigned>(*p - '0');
  }
  if (p == at_ || !ends_field(p)) {
    return slow_number(field, value);  // the number is invalid: slow_number() sets reason() and returns false
  }
  const std::string_view digits(at_, static_cast<size_t>(p - at_));
  step_over(p);
  if (digits.size() > kSafeDigits) {
    return parse_checked(digits, out) || fail(field, "is too large");
  }
  out = value;
  return true;
}

bool Fields::hexadecimal(std::string_view field, std::string_view digits, uint64_t& out) {
  if (digits.empty()) {
    return fail(field, "is not a number");
  }
  uint64_t value = 0;
  for (const char c : digits) {
    const int digit = hex_digit(c);
    if (digit < 0) {
      return fail(field, "is not a number");
    }
    if ((value >> 60U) != 0) {
      return fail(field, "is too large");
    }
    value = (value << 4U) | static_cast<unsigned>(digit);
  }
  out = value;
  return true;
}

bool Fields::offset(std::string_view field, uint64_t& out) {
  if (at_ == nullptr || at_[0] != '0' || end_ - at_ < 2 || at_[1] != 'x') {
    return number(field, out);
  }
  std::string_view digits;
  return word(field, digits) && hexadecimal(field, digits.substr(kHexadecimal.size()), out);
}

bool Fields::unescape(std::string_view field, char* begin, char* end, std::string_view& out) {
  char* to = begin;
  for (const char* from = begin; from < end; ++from) {
    char c = *from;
    if (is_control(c)) {
      return fail(field, "holds a control byte that is not escaped");
    }
    if (c == '\\') {
      const bool whole = end - from >= 4 && from[1] == 'x' && hex_digit(from[2]) >= 0 && hex_digit(from[3]) >= 0;
      if (!whole) {
        return fail(field, "has a bad escape: a backslash must be followed by xHH (two hex digits)");
      }
      c = static_cast<char>(hex_digit(from[2]) * 16 + hex_digit(from[3]));
      from += 3;
    }
    *to++ = c;
  }
  out = std::string_view(begin, static_cast<size_t>(to - begin));
  return true;
}

bool Fields::text(std::string_view field, std::string_view& out) {
  char* begin = nullptr;
  char* const end = take(field, begin);
  return end != nullptr && unescape(field, begin, end, out);
}

bool Fields::rest(std::string_view field, std::string_view& out) {
  if (at_ == nullptr) {
    return missing(field);
  }
  out = std::string_view(at_, static_cast<size_t>(end_ - at_));
  at_ = nullptr;
  return true;
}

bool Fields::element(StackElement& out) {
  out = StackElement{};
  char* begin = nullptr;
  char* const end = take("frame", begin);
  if (end == nullptr) {
    return false;
  }
  const std::string_view text(begin, static_cast<size_t>(end - begin));
  if (text.empty()) {
    return fail("frame", "is empty");
  }
  if (text.starts_with(kHexadecimal)) {
    out.is_address = true;
    return hexadecimal("frame", text.substr(kHexadecimal.size()), out.address);
  }
  if (!escaped_) {
    out.text = text;
    return true;
  }
  if (!all_digits(text)) {
    return unescape("frame", begin, end, out.text);
  }
  uint32_t id = 0;
  if (!parse_checked(text, id)) {
    return fail("frame", "is too large");
  }
  out.frame = FrameId{id};
  return true;
}

bool Fields::done() {
  if (at_ == nullptr) {
    return true;
  }
  return fail("there are more fields than this kind of record has");
}

}  // namespace gpuprof::profile
