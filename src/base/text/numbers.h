// Formats numbers for people, in the same form in all outputs, and parses them. Times and sizes have at least three
// digits; counts, and values in the smallest unit, are integers. Halves are rounded up.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuprof {

std::string count_text(uint64_t count);                               // "1,234,567"
std::string counted_text(uint64_t count, std::string_view singular);  // "1 launch", "1,234 launches"
std::string plural_text(std::string_view singular);                   // "launches"
std::string_view is_or_are(uint64_t count);                           // the verb after counted_text()
std::string short_count_text(uint64_t count);                         // "9999", "1.2M": for narrow columns
std::string duration_text(uint64_t ns);                               // "999 ns", "1.23 ms", "2,345 s"
std::string bytes_text(uint64_t bytes);                               // "512 B", "1.50 MiB"

// Returns a percentage such as "12.34%", rounded to the nearest. Returns "0.00%" if `whole` is 0.
std::string percent_text(uint64_t part, uint64_t whole);

// For a share that is covered: rounded down, so that it never overstates. For a share that is missing, lost or spent:
// rounded up, so that it never understates. The texts of a part and of the rest add up to 100.00%. Only nothing is
// "0.00%", and only all is "100.00%". percent_text_down() never exceeds that; percent_text_up() of a larger part does.
std::string percent_text_down(uint64_t part, uint64_t whole);
std::string percent_text_up(uint64_t part, uint64_t whole);

// Like percent_text_down(), but without "%", and with 0 to 9 `decimals`.
std::string percent_digits_down(uint64_t part, uint64_t whole, int decimals);

// Parses a duration into nanoseconds: "250ms", "1.5s", "2m", "500us", "10ns". A number without unit is in
// seconds. nullopt: invalid, or out of range.
std::optional<uint64_t> parse_duration(std::string_view text);

// Parses a text that consists only of digits: blanks and '+' are invalid. Returns nullopt if it is invalid or out of
// range.
template <std::integral Number = uint64_t>
std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace gpuprof
