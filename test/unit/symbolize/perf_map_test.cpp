#include "symbolize/perf_map.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <optional>
#include <string>

#include "base/files/safe_open.h"
#include "catch.h"
#include "child.h"
#include "symbolize/process_maps.h"

namespace gpuprof::symbolize::test {
namespace {

void read_map(PerfMap& map) {
  ReadingBudget budget({}, {});
  map.open(FileAccess{});
  map.refresh(budget);
}

TEST_CASE("malformed lines of a perf map are ignored") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/perf-1.map";
  std::ofstream(path) << "1000 10 plain\n0x2000 0x10 prefixed\n3000 10\n4000\n\nzz 10 name\n5000 0 empty\n"
                         "ffffffffffffff00 200 wraps\n6000 10 a b  c\n10000000000000000 1 too big\n";
  PerfMap map(path, ::geteuid());
  read_map(map);
  CHECK(map.find(0x1000) == "plain");
  CHECK(map.find(0x100f) == "plain");
  CHECK(map.find(0x1010).empty());
  CHECK(map.find(0x2008) == "prefixed");
  CHECK(map.find(0x3000).empty());
  CHECK(map.find(0x5000).empty());
  CHECK(map.find(0xffffffffffffff80).empty());
  CHECK(map.find(0x6001) == "a b  c");
  CHECK(map.find(0).empty());
}

TEST_CASE("only perf maps of root and of the process's user are trusted, whoever records") {
  if (::geteuid() != 0) {
    TemporaryDirectory own_files;
    std::ofstream(own_files.path() + "/perf-1.map") << "1000 10 name\n";
    PerfMap of_this_user(own_files.path() + "/perf-1.map", ::geteuid() + 1);
    read_map(of_this_user);
    CHECK(of_this_user.find(0x1000).empty());
    return;
  }
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/perf-1.map";
  std::ofstream(path) << "1000 10 name\n";
  REQUIRE(::chown(path.c_str(), 12345, 12345) == 0);
  PerfMap of_another(path, 54321);
  read_map(of_another);
  CHECK(of_another.find(0x1000).empty());
  PerfMap own(path, 12345);
  read_map(own);
  CHECK(own.find(0x1000) == "name");
  REQUIRE(::chmod(directory.path().c_str(), 0755) == 0);
  REQUIRE(::seteuid(54321) == 0);
  PerfMap as_another_user(path, 54321);
  read_map(as_another_user);
  CHECK(::seteuid(0) == 0);
  CHECK(as_another_user.find(0x1000).empty());
}

TEST_CASE("a symbolic link is not accepted as a perf map") {
  TemporaryDirectory directory;
  std::ofstream(directory.path() + "/elsewhere") << "1000 10 name\n";
  const std::string path = directory.path() + "/perf-1.map";
  REQUIRE(::symlink("elsewhere", path.c_str()) == 0);
  PerfMap map(path, ::geteuid());
  read_map(map);
  CHECK(map.find(0x1000).empty());
}

TEST_CASE("a process in another PID namespace has a perf map with its inner pid") {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t helper = ::fork();
  if (helper == 0) {
    pid_t inner = ::unshare(CLONE_NEWPID) == 0 ? ::fork() : -1;
    if (inner == 0) {
      ::pause();
      ::_exit(0);
    }
    const ssize_t written = ::write(pipe[1], &inner, sizeof inner);
    ::waitpid(inner, nullptr, 0);
    ::_exit(written == sizeof inner ? 0 : 1);
  }
  pid_t inner = -1;
  REQUIRE(::read(pipe[0], &inner, sizeof inner) == sizeof inner);
  if (inner > 0) {
    ProcessMaps maps(static_cast<uint32_t>(inner), make_file_cache());
    CHECK(maps.refresh());
    CHECK(maps.perf_map_path() == "/tmp/perf-1.map");
    ::kill(inner, SIGKILL);
  } else {
    WARN("skipped: PID namespaces need root");
  }
  ::waitpid(helper, nullptr, 0);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_CASE("a perf map is readable after the end of the process and of its mount namespace") {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool own = ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                     ::mount("none", "/tmp", "tmpfs", 0, nullptr) == 0;
    const char ready = own ? 'y' : 'n';
    const ssize_t written = ::write(pipe[1], &ready, 1);
    ::pause();
    ::_exit(written == 1 ? 0 : 1);
  }
  char ready = 'n';
  REQUIRE(::read(pipe[0], &ready, 1) == 1);
  ProcessMaps maps(static_cast<uint32_t>(child), make_file_cache());
  REQUIRE(maps.refresh());
  const bool own_folder = ready == 'y';
  if (own_folder) {
    std::ofstream("/proc/" + std::to_string(child) + "/root" + maps.perf_map_path()) << "1000 10 compiled\n";
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(pipe[0]);
  ::close(pipe[1]);
  if (!own_folder) {
    WARN("skipped: mount namespaces need root");
    return;
  }
  ReadingBudget budget({}, {});
  const std::optional<FileAccess> access = maps.file_access();
  REQUIRE(access);
  maps.perf_map()->open(*access);
  maps.perf_map()->refresh(budget);
  CHECK(maps.perf_map()->find(0x1000) == "compiled");
}

}  // namespace
}  // namespace gpuprof::symbolize::test
