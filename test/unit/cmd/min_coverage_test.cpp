#include "catch.h"
#include "cmd/command.h"
#include "cmd/common/input.h"

namespace gpuprof::cmd {

TEST_CASE("too low coverage has its own exit code and a message with both percentages") {
  analyze::ProfileInfo info;
  info.complete = true;
  info.covered = {100'000, 94'999, 0};
  CHECK(MinCoverage{.percent = 0}.check(info));
  CHECK(MinCoverage{.percent = 94.999}.check(info));
  const Status short_of = MinCoverage{.percent = 95}.check(info);
  REQUIRE_FALSE(short_of);
  CHECK(short_of.error().exit_code == kExitCoverage);
  CHECK(short_of.error().message == "a CPU stack explains 94.99% of the GPU work, less than 95%");
  CHECK_FALSE(short_of.error().hint.empty());
  info.covered = {10, 10, 0};
  CHECK(MinCoverage{.percent = 100}.check(info));
}

TEST_CASE("the hint says that --stacks=none switched stacks off") {
  analyze::ProfileInfo info;
  info.complete = true;
  info.covered = {10, 0, 0};
  info.meta.emplace("stack_engine", "none");
  const Status short_of = MinCoverage{.percent = 95}.check(info);
  REQUIRE_FALSE(short_of);
  CHECK(short_of.error().hint == "--stacks=none switched CPU stacks off: record without it");
}

TEST_CASE("a profile without GPU work fails every minimum coverage above 0") {
  analyze::ProfileInfo info;
  info.complete = true;
  CHECK(MinCoverage{.percent = 0}.check(info));
  const Status nothing = MinCoverage{.percent = 0.1}.check(info);
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().exit_code == kExitCoverage);
  CHECK(nothing.error().message.find("no GPU work") != std::string::npos);
}

TEST_CASE("the coverage of a truncated profile is unknown") {
  analyze::ProfileInfo info;
  info.covered = {10, 10, 0};
  CHECK(MinCoverage{.percent = 0}.check(info));
  const Status unknown = MinCoverage{.percent = 50}.check(info);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().exit_code == kExitCoverage);
}

TEST_CASE("the help text explains the exit code of --min-coverage") {
  CHECK(help_text().find(std::to_string(kExitCoverage) + " coverage below --min-coverage") != std::string::npos);
}

}  // namespace gpuprof::cmd
