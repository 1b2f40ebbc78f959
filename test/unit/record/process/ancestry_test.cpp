#include "record/process/ancestry.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "base/unique_fd.h"
#include "catch.h"

using gpuprof::record::descends_from;
using gpuprof::record::parent_of;
using gpuprof::record::parse_parent;

TEST_CASE("the parent pid is parsed after any process name") {
  CHECK(parse_parent("12 (sh) S 7 12 12") == 7);
  CHECK(parse_parent("12 (a) S 1 (b)) R 9 12 12") == 9);
  CHECK(parse_parent("12 (x\n) S 3 4") == 3);
  for (const char* text : {"", "12", "12 (sh)", "12 (sh) S", "12 (sh) S ", "12 (sh) S x", "12 (sh) S -4", "12 (sh) S 0",
                           "12 (sh) S 99999999999"}) {
    CHECK(parse_parent(text) == 0);
  }
}

TEST_CASE("a process descends from its ancestors and from itself") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const gpuprof::UniqueFd read_end(ends[0]);
  const gpuprof::UniqueFd write_end(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    const pid_t grandchild = ::fork();
    if (grandchild != 0) {
      (void)!::write(write_end.get(), &grandchild, sizeof(grandchild));
    }
    ::pause();
    ::_exit(0);
  }
  pid_t grandchild = 0;
  REQUIRE(::read(read_end.get(), &grandchild, sizeof(grandchild)) == sizeof(grandchild));
  CHECK(parent_of(grandchild) == child);
  CHECK(descends_from(grandchild, ::getpid()));
  CHECK(descends_from(grandchild, child));
  CHECK(descends_from(grandchild, grandchild));
  CHECK_FALSE(descends_from(::getpid(), child));
  CHECK_FALSE(descends_from(child, grandchild));
  CHECK_FALSE(descends_from(0, 0));
  ::kill(grandchild, SIGKILL);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(parent_of(child) == 0);
  CHECK_FALSE(descends_from(child, ::getpid()));
}
