// Numbers as people read them, and back: one form a quantity, in every table, picture and message. Times and sizes have
// three digits, and all of those before the point; in their smallest unit they are whole, as counts are. Halves go up.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuprof {

std::string count_text(uint64_t count);        // "1,234,567"
std::string short_count_text(uint64_t count);  // "9999", "1.2M": where there is no room for more
std::string duration_text(uint64_t ns);        // "999 ns", "1.23 ms", "2,345 s"
std::string bytes_text(uint64_t bytes);        // "512 B", "1.50 MiB"

// "12.34%", rounded to the nearest; of nothing: "0.00%".
std::string percent_text(uint64_t part, uint64_t whole);

// "99.99%" as long as anything is missing, and "100.00%" at most: where a share is a promise, it says no more than is
// so.
std::string percent_text_down(uint64_t part, uint64_t whole);

// The same without its sign, with that many decimals (up to 9).
std::string percent_digits_down(uint64_t part, uint64_t whole, int decimals);

// A duration as people write it, in nanoseconds: "250ms", "1.5s", "2m", "500us", "10ns". A number alone is of
// `unit_ns`, where that is not 0. nullopt: it is no such text, or does not fit.
std::optional<uint64_t> parse_duration(std::string_view text, uint64_t unit_ns);

// What all of the text says in digits, as machines write it: no blanks, no '+'. nullopt: it is no such text, or does
// not fit.
template <std::integral Number = uint64_t>
std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace gpuprof
