#include "record/target/target.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "catch.h"

using gpuprof::record::Target;
using gpuprof::record::TargetSpec;

namespace {

gpuprof::Result<Target> spawn(std::vector<std::string> command) {
  gpuprof::backend::LaunchEnv env;
  env.set("PATH", "/usr/bin:/bin");
  env.set("GREETING", "a value; with = everything");
  sigset_t mask;
  sigemptyset(&mask);
  return Target::spawn({std::move(command), false, {}, {}}, {}, env, mask);
}

int wait_for(Target& target) {
  for (int i = 0; i < 12000; ++i) {
    if (const auto status = target.try_wait()) {
      return *status;
    }
    ::usleep(5000);
  }
  return -1;
}

}  // namespace

TEST_CASE("the status of the command is returned") {
  auto target = spawn({"sh", "-c", "test \"$GREETING\" = 'a value; with = everything' && exit 42"});
  REQUIRE(target.ok());
  const int status = wait_for(*target);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 42);

  auto killed = spawn({"sh", "-c", "kill -SEGV $$"});
  REQUIRE(killed.ok());
  CHECK(WTERMSIG(wait_for(*killed)) == SIGSEGV);
}

TEST_CASE("a command that cannot run has the shell's exit codes") {
  CHECK(spawn({"no-such-command-anywhere"}).error().exit_code == 127);
  CHECK(spawn({"/no/such/file"}).error().exit_code == 127);
  CHECK(spawn({"/etc/passwd"}).error().exit_code == 126);
  CHECK(spawn({"/"}).error().exit_code == 126);
}

TEST_CASE("users are looked up by name") {
  CHECK((*gpuprof::record::find_user("root"))->uid == 0);
  CHECK_FALSE(gpuprof::record::find_user("")->has_value());
  CHECK(gpuprof::record::find_user("no-such-user-here").error().exit_code == 2);
}
