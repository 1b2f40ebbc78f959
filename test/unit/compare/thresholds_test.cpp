#include "compare/judge/thresholds.h"

#include <string>
#include <vector>

#include "catch.h"

using namespace gpuprof;
using namespace gpuprof::compare;

namespace {

constexpr const char* kToday = "2026-11-23";

std::string message_of(std::string_view text) {
  std::vector<std::string> expired;
  const Result<Thresholds> parsed = parse_thresholds(text, "gate.txt", kToday, expired);
  return parsed ? "" : parsed.error().message;
}

}  // namespace

TEST_CASE("a file of thresholds is parsed, with its expired lines") {
  std::vector<std::string> expired;
  const auto parsed = parse_thresholds(
      "# what may be slower\n"
      "\n"
      "attention_*    5%  until 2027-01-31  new mask, see #41\n"
      "\"void gemm<float, 4>\"  10.5% double buffering comes with the next release\r\n"
      "  decode  3%   until 2026-11-22 gone tomorrow\n"
      "[total]\t2% until 2026-11-23 its last day",
      "gate.txt", kToday, expired);
  REQUIRE(parsed);
  REQUIRE(parsed->entries.size() == 3);
  const Threshold& first = parsed->entries[0];
  CHECK(first.glob == "attention_*");
  CHECK(first.percent == 5);
  CHECK(first.expires == "2027-01-31");
  CHECK(first.reason == "new mask, see #41");
  CHECK(first.line == 3);
  CHECK(parsed->entries[1].glob == "void gemm<float, 4>");
  CHECK(parsed->entries[1].percent == 10.5);
  CHECK(parsed->entries[1].expires.empty());
  CHECK(parsed->entries[1].reason == "double buffering comes with the next release");
  CHECK(parsed->entries[2].glob == "[total]");
  REQUIRE(expired.size() == 1);
  CHECK(expired[0] == "gate.txt:5: decode expired on 2026-11-22 (gone tomorrow)");

  CHECK(parsed->find("attention_forward") == &parsed->entries[0]);
  CHECK(parsed->find("void gemm<float, 4>") == &parsed->entries[1]);
  CHECK(parsed->find("[total]") == &parsed->entries[2]);
  CHECK(parsed->find("decode") == nullptr);
}

TEST_CASE("an invalid threshold is an error with its line") {
  CHECK(message_of("a 5% x\nb\n") == "gate.txt:2: the percentage is missing");
  CHECK(message_of("b 5 because") == "gate.txt:1: '5' is not a percentage such as 5%");
  CHECK(message_of("b -5% because") == "gate.txt:1: '-5%' is not a percentage such as 5%");
  CHECK(message_of("b nan% because") == "gate.txt:1: 'nan%' is not a percentage such as 5%");
  CHECK(message_of("b 1e9% because") == "gate.txt:1: '1e9%' is not a percentage such as 5%");
  CHECK(message_of("b 5%") == "gate.txt:1: the reason is missing");
  CHECK(message_of("b 5% until 2027-01-31") == "gate.txt:1: the reason is missing");
  CHECK(message_of("b 5% until tomorrow x") == "gate.txt:1: 'tomorrow' is not a date such as 2027-01-31");
  CHECK(message_of("b 5% until 2027-13-01 x") == "gate.txt:1: '2027-13-01' is not a date such as 2027-01-31");
  CHECK(message_of("\"b 5% x") == "gate.txt:1: the closing quote is missing");
  CHECK(message_of("\"\" 5% x") == "gate.txt:1: the glob is empty");
  CHECK(message_of(std::string(2 << 20, 'x')) == "gate.txt: a file of thresholds must not exceed 1 MiB");
  CHECK(message_of("b 5\x1b[31m% x").find('\x1b') == std::string::npos);
}

TEST_CASE("globs match the complete name or the short one, and the first matching line applies") {
  const std::string kernel = "void ops::scale<4, ops::Half<float> >(float*, int)";
  std::vector<std::string> expired;
  const auto found = [&](std::string_view text) {
    const auto parsed = parse_thresholds(text, "gate.txt", "2026-11-23", expired);
    REQUIRE(parsed);
    const Threshold* const entry = parsed->find(kernel);
    return entry == nullptr ? 0 : entry->line;
  };
  CHECK(found("\"void ops::scale<4, ops::Half<float> >(float?, int)\" 5% x\n") == 1);
  CHECK(found("\"ops::scale<4, Half<float>>\" 5% x\n") == 1);
  CHECK(found("ops::scale* 5% x\nvoid* 6% x\n") == 1);
  CHECK(found("void* 5% x\nops::scale* 6% x\n") == 1);
  CHECK(found("scale* 5% x\n") == 0);
}

TEST_CASE("globs support only * and ?") {
  CHECK(glob_matches("*", ""));
  CHECK(glob_matches("a*c", "abbc"));
  CHECK(glob_matches("a*c*", "abcbd"));
  CHECK_FALSE(glob_matches("a*c", "abcd"));
  CHECK(glob_matches("a?c", "abc"));
  CHECK_FALSE(glob_matches("a?c", "ac"));
  CHECK(glob_matches("[copy HtoD]", "[copy HtoD]"));  // the name of a kernel always matches itself
  CHECK_FALSE(glob_matches("[copy HtoD]", "c"));
  CHECK_FALSE(glob_matches("", "a"));
  // Matching must not try all ways to split the text among the stars, which would take forever.
  CHECK_FALSE(glob_matches("*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(100'000, 'a')));
}
