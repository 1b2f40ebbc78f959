#include "record/attach/inject_child.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "catch.h"

using gpuprof::Error;
using gpuprof::monotonic_ns;
using gpuprof::record::Injection;
using gpuprof::record::InjectionOutcome;
using gpuprof::record::run_in_child;

namespace {

bool go_on() {
  return false;
}

using Stop = std::function<bool()>;

}  // namespace

TEST_CASE("the parent receives the child's report") {
  const auto brought = run_in_child(
      [](const Stop& /*stop*/) -> InjectionOutcome {
        Injection injection;
        injection.file.reset(::open("/etc/passwd", O_RDONLY | O_CLOEXEC));
        injection.was_there = true;
        return std::optional<Injection>(std::move(injection));
      },
      go_on);
  REQUIRE(brought.ok());
  REQUIRE(brought->has_value());
  CHECK((*brought)->was_there);
  struct stat theirs {};
  struct stat named {};
  CHECK(::stat((*brought)->path.c_str(), &theirs) == 0);
  CHECK(::stat("/etc/passwd", &named) == 0);
  CHECK(theirs.st_ino == named.st_ino);

  const auto busy = run_in_child([](const Stop& /*stop*/) { return InjectionOutcome(std::optional<Injection>()); }, {});
  REQUIRE(busy.ok());
  CHECK_FALSE(busy->has_value());

  const std::string long_text(5000, 'x');
  const auto failed = run_in_child(
      [&](const Stop& /*stop*/) {
        return InjectionOutcome(Error{long_text, "a hint"});
      },
      go_on);
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().message == long_text.substr(0, 1023));
  CHECK(failed.error().hint == "a hint");
}

TEST_CASE("a child that ends without a report is an error") {
  const auto outcome = run_in_child([](const Stop& /*stop*/) -> InjectionOutcome { ::_exit(3); }, go_on);
  REQUIRE_FALSE(outcome.ok());
  CHECK(outcome.error().message.find("has ended") != std::string::npos);
}

TEST_CASE("a child is asked to stop, and the parent waits only briefly") {
  const auto told = run_in_child(
      [](const Stop& stop) -> InjectionOutcome {
        while (!stop()) {
          ::usleep(1000);
        }
        return Error{"told", ""};
      },
      [] { return true; });
  REQUIRE_FALSE(told.ok());
  CHECK(told.error().message == "told");

  const uint64_t began = monotonic_ns();
  const auto deaf = run_in_child(
      [](const Stop& /*stop*/) -> InjectionOutcome {
        ::sleep(20);
        ::_exit(0);
      },
      [] { return true; });
  CHECK_FALSE(deaf.ok());
  CHECK(monotonic_ns() - began < 15'000'000'000);
}
