#include "base/text/pattern.h"

#include <chrono>
#include <string>

#include "catch.h"

using gpuprof::Pattern;

namespace {

Pattern pattern(const char* text) {
  auto compiled = Pattern::compile("--kernel", text);
  REQUIRE(compiled);
  return std::move(compiled).value();
}

}  // namespace

TEST_CASE("a pattern matches anywhere in a name with any bytes") {
  CHECK(pattern("b+$").matches("abb"));
  CHECK_FALSE(pattern("^b").matches("ab"));
  CHECK(pattern("^f.*\\(int\\)$").matches("f\xff<a\nb>(int)"));
  CHECK(pattern("^.$").matches("\xff"));
  CHECK(pattern("[[:digit:]]{2,}").matches("kernel_42"));
  CHECK(pattern("\\bsgemm\\b").matches("void sgemm<float>"));
  CHECK(pattern("(?i)nccl").matches("ncclAllReduce and NCCL"));
}

TEST_CASE("an invalid pattern is an error that names the option and the unsupported syntax") {
  for (const char* text : {"(", "[b-a]", "a(?=b)", "a(?!b)", "(a)\\1", "*a", "a{2,1}", "a{2000}"}) {
    INFO(text);
    const auto compiled = Pattern::compile("--kernel", text);
    REQUIRE_FALSE(compiled);
    CHECK(compiled.error().message.starts_with("--kernel: not a regular expression: "));
    CHECK(compiled.error().hint.find("lookahead and backreferences are not supported") != std::string::npos);
    CHECK(compiled.error().exit_code == 2);
  }
}

TEST_CASE("a pattern that stalls backtracking matchers ends quickly") {
  const std::string name(64 << 10, 'a');
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(pattern("(a*)*b").matches(name));
  CHECK_FALSE(pattern("^(a+)+$").matches(name + "b"));
  CHECK_FALSE(pattern("(a|b)*c$").matches(std::string(1 << 20, 'a')));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
}
