#include "base/text/numbers.h"

#include "catch.h"

using namespace gpuprof;

TEST_CASE("counts have groups of three digits") {
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1'000) == "1,000");
  CHECK(count_text(UINT64_MAX) == "18,446,744,073,709,551,615");
}

TEST_CASE("short counts have a unit if they have five digits or more") {
  CHECK(short_count_text(0) == "0");
  CHECK(short_count_text(9'999) == "9999");
  CHECK(short_count_text(10'000) == "10k");
  CHECK(short_count_text(999'499) == "999k");
  CHECK(short_count_text(999'500) == "1.0M");
  CHECK(short_count_text(1'234'567) == "1.2M");
  CHECK(short_count_text(9'960'000) == "10M");
  CHECK(short_count_text(1'250'000) == "1.3M");
  CHECK(short_count_text(10'500) == "11k");
  CHECK(short_count_text(UINT64_MAX) == "18446744T");
}

TEST_CASE("a counted word is singular only for 1") {
  CHECK(counted_text(1, "stack") == "1 stack");
  CHECK(counted_text(0, "stack") == "0 stacks");
  CHECK(counted_text(2345, "launch") == "2,345 launches");
  CHECK(counted_text(2, "process") == "2 processes");
}

TEST_CASE("a duration is parsed with its unit, or without one in seconds") {
  CHECK(parse_duration("250ms") == 250'000'000);
  CHECK(parse_duration("1.5s") == 1'500'000'000);
  CHECK(parse_duration("10ns") == 10);
  CHECK(parse_duration("0.5us") == 500);
  CHECK(parse_duration("2m") == 120'000'000'000);
  CHECK(parse_duration("1h") == 3'600'000'000'000);
  CHECK(parse_duration("2") == 2'000'000'000);
  for (const char* text : {"", "ms", "-1s", "1e9s", "1 s", "1sec", ".s", "1..5s", "9999999999999h", "inf", "0x1s"}) {
    INFO(text);
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_CASE("durations have three digits, and use the next unit if they would round to 1000") {
  CHECK(duration_text(0) == "0 ns");
  CHECK(duration_text(999) == "999 ns");
  CHECK(duration_text(1'000) == "1.00 us");
  CHECK(duration_text(1'234) == "1.23 us");
  CHECK(duration_text(9'996) == "10.0 us");
  CHECK(duration_text(99'960) == "100 us");
  CHECK(duration_text(999'499) == "999 us");
  CHECK(duration_text(999'500) == "1.00 ms");
  CHECK(duration_text(56'780'000) == "56.8 ms");
  CHECK(duration_text(999'499'999) == "999 ms");
  CHECK(duration_text(999'500'000) == "1.00 s");
  CHECK(duration_text(2'345'600'000'000) == "2,346 s");
  CHECK(duration_text(UINT64_MAX) == "18,446,744,074 s");
}

TEST_CASE("halves are rounded up, even where a double would be slightly less") {
  CHECK(duration_text(1'125) == "1.13 us");
  CHECK(duration_text(1'005) == "1.01 us");
  CHECK(duration_text(9'995) == "10.0 us");
  CHECK(duration_text(12'250) == "12.3 us");
  CHECK(duration_text(99'950) == "100 us");
  CHECK(duration_text(100'500) == "101 us");
  CHECK(duration_text(102'500'000) == "103 ms");
  CHECK(bytes_text(1'152) == "1.13 KiB");
  CHECK(percent_text(1, 800) == "0.13%");
  CHECK(percent_text(1'005, 100'000) == "1.01%");
}

TEST_CASE("bytes have binary units") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1'023) == "1023 B");
  CHECK(bytes_text(1'024) == "1.00 KiB");
  CHECK(bytes_text(1'536) == "1.50 KiB");
  CHECK(bytes_text(1'023U << 10U) == "1,023 KiB");
  CHECK(bytes_text(1'048'063) == "1,023 KiB");
  CHECK(bytes_text(1'048'064) == "1.00 MiB");
  CHECK(bytes_text(1'048'575) == "1.00 MiB");
  CHECK(bytes_text(5ULL << 40U) == "5.00 TiB");
  CHECK(bytes_text(UINT64_MAX) == "16,777,216 TiB");
}

TEST_CASE("a percentage is rounded to nearest, and a percentage of 0 is 0") {
  CHECK(percent_text(0, 0) == "0.00%");
  CHECK(percent_text(1, 0) == "0.00%");
  CHECK(percent_text(1, 3) == "33.33%");
  CHECK(percent_text(2, 3) == "66.67%");
  CHECK(percent_text(999'999, 1'000'000) == "100.00%");
  CHECK(percent_text(UINT64_MAX, UINT64_MAX) == "100.00%");
  CHECK(percent_text(UINT64_MAX, 1) == "1844674407370955161500.00%");
}

TEST_CASE("a guaranteed percentage is rounded down") {
  CHECK(percent_text_down(0, 0) == "0.00%");
  CHECK(percent_text_down(2, 3) == "66.66%");
  CHECK(percent_text_down(999'999, 1'000'000) == "99.99%");
  CHECK(percent_text_down(UINT64_MAX - 1, UINT64_MAX) == "99.99%");
  CHECK(percent_text_down(UINT64_MAX, UINT64_MAX) == "100.00%");
  CHECK(percent_text_down(UINT64_MAX, 1) == "100.00%");
  CHECK(percent_text_down(1, UINT64_MAX) == "0.01%");
  CHECK(percent_text_down(0, UINT64_MAX) == "0.00%");
  CHECK(percent_text_down(29, 10'000) == "0.29%");  // as a double, 0.29 * 100 is less than 29
  CHECK(percent_digits_down(843, 1'000, 4) == "84.3000");
  CHECK(percent_digits_down(2, 3, 0) == "66");
  CHECK(percent_digits_down(1, 1'000'000'000, 9) == "0.000000100");
  CHECK(percent_digits_down(UINT64_MAX - 1, UINT64_MAX, 9) == "99.999999999");
  CHECK(percent_digits_down(1, UINT64_MAX, 4) == "0.0001");
}

TEST_CASE("the percentage of what is missing is rounded up") {
  CHECK(percent_text_up(0, 0) == "0.00%");
  CHECK(percent_text_up(1, 0) == "0.00%");
  CHECK(percent_text_up(0, UINT64_MAX) == "0.00%");
  CHECK(percent_text_up(1, UINT64_MAX) == "0.01%");
  CHECK(percent_text_up(1, 3) == "33.34%");
  CHECK(percent_text_up(1, 100) == "1.00%");
  CHECK(percent_text_up(UINT64_MAX - 1, UINT64_MAX) == "99.99%");
  CHECK(percent_text_up(UINT64_MAX, UINT64_MAX) == "100.00%");
  CHECK(percent_text_up(100'001, 100'000) == "100.01%");  // a budget can be exceeded
}

TEST_CASE("what is covered and what is missing add up to 100%") {
  const auto hundredths = [](std::string text) {
    text.erase(text.find('.'), 1);
    return std::stoi(text);
  };
  for (const uint64_t whole :
       {uint64_t{1}, uint64_t{3}, uint64_t{10'000}, uint64_t{99'999}, uint64_t{7'000'000}, UINT64_MAX}) {
    for (const uint64_t part : {uint64_t{0}, uint64_t{1}, uint64_t{2}, whole / 3, whole / 2, whole - 1, whole}) {
      if (part <= whole) {
        CHECK(hundredths(percent_text_down(part, whole)) + hundredths(percent_text_up(whole - part, whole)) == 10'000);
      }
    }
  }
}
