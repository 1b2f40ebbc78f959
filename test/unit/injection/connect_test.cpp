#include <dirent.h>
#include <grp.h>

#include <string>

#include "catch.h"
#include "child.h"
#include "fake_recorder.h"
#include "runtime/lifecycle.h"

using gpuprof::test::Environment;
using gpuprof::test::FakeRecorder;
using gpuprof::test::fork_child;
using gpuprof::test::wait_for;
namespace injection = gpuprof::injection;

namespace {

int open_files() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (folder != nullptr && readdir(folder) != nullptr) {
    ++count;
  }
  closedir(folder);
  return count;
}

// Returns whether a target with user id `as` connects if its environment names `user` as the recorder's user.
bool connects(FakeRecorder& recorder, const std::string& user, uid_t as) {
  Environment environment = recorder.environment();
  environment[2].second = user;
  const pid_t pid = fork_child(environment, [&] {
    if (as != geteuid() && (setgroups(0, nullptr) != 0 || setresgid(as, as, as) != 0 || setresuid(as, as, as) != 0)) {
      return 2;
    }
    const int before = open_files();
    const bool on = injection::start("test");
    return open_files() != before ? 3 : on ? 0 : 1;
  });
  recorder.start();
  const int status = wait_for(pid);
  recorder.stop();
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) <= 1);
  return WEXITSTATUS(status) == 0;
}

bool uses(const FakeRecorder::Options& options) {
  FakeRecorder recorder(options);
  const bool on = connects(recorder, std::to_string(geteuid()), geteuid());
  CHECK(recorder.hellos() == 1);  // the fake recorder answers a hello by sending the memory
  return on;
}

}  // namespace

TEST_CASE("shared memory is used only if it can neither shrink nor grow") {
  CHECK(uses({}));
  for (const int seals :
       {0, F_SEAL_SEAL, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_SHRINK | F_SEAL_SEAL, F_SEAL_GROW | F_SEAL_SEAL}) {
    FakeRecorder::Options options;
    options.seals = seals;
    CHECK_FALSE(uses(options));
  }
  FakeRecorder::Options larger;
  larger.more_bytes = 4096;
  CHECK_FALSE(uses(larger));
}

TEST_CASE("an offer of several files is rejected, and all of them are closed") {
  FakeRecorder::Options options;
  for (const int more : {1, 5}) {
    options.more_files = more;
    CHECK_FALSE(uses(options));
  }
}

TEST_CASE("a target sends nothing to a recorder of another user") {
  if (geteuid() != 0) {
    return;
  }
  constexpr uid_t kTarget = 54321;
  for (const char* other : {"54322", "", "x", "-1", "4294967295", "4294967296", "99999999999999999999"}) {
    FakeRecorder recorder;
    CHECK_FALSE(connects(recorder, other, kTarget));
    CHECK(recorder.hellos() == 0);
  }
  FakeRecorder recorder;
  CHECK(connects(recorder, "0", kTarget));
  CHECK(recorder.hellos() == 1);
}

TEST_CASE("a recorder of the target's own user is trusted, whatever its id in the outer namespace") {
  FakeRecorder recorder;
  CHECK(connects(recorder, "54322", geteuid()));
}
