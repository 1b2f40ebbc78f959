#include "base/result.h"

#include <fcntl.h>

#include <memory>

#include "base/unique_fd.h"
#include "base/version.h"
#include "catch.h"

using namespace gpuprof;

TEST_CASE("a result holds a value or an error") {
  const Result<int> value = 7;
  REQUIRE(value.ok());
  CHECK(*value == 7);
  const Result<int> error = Error{"went wrong", "try again", 3};
  REQUIRE_FALSE(error.ok());
  CHECK(error.error().message == "went wrong");
  CHECK(error.error().exit_code == 3);
  Result<std::unique_ptr<int>> movable = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = std::move(movable).value();
  CHECK(*taken == 5);
  CHECK(Status().ok());
  CHECK_FALSE(Status(Error{"no", ""}).ok());
}

TEST_CASE("a descriptor has one owner, which closes it") {
  int number = -1;
  {
    UniqueFd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    REQUIRE(first);
    number = first.get();
    const UniqueFd second = std::move(first);
    CHECK(second.get() == number);
    CHECK(::fcntl(number, F_GETFD) != -1);
  }
  CHECK(::fcntl(number, F_GETFD) == -1);
}

TEST_CASE("the version has a dot") {
  CHECK(version().find('.') != std::string_view::npos);
}
