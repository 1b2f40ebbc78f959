#include "record/target/target_user.h"

#include <algorithm>

#include "backend/backend.h"
#include "catch.h"

using gpuprof::record::target_environment;
using gpuprof::record::TargetUser;

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

const std::vector<std::string> kOurs = {
    "PATH=/root/bin", "HOME=/root", "USER=root",      "LOGNAME=root", "SHELL=/bin/zsh", "SECRET=a=b",  "TERM=vt100",
    "LC_ALL=C",       "LANG=C",     "no equals sign", "CUDA_HOME=/c", "LD_PRELOAD=",    "MYTERM=vt100"};
const TargetUser kAda = {1815, 1815, "ada", "/home/ada", "/bin/bash"};

Variables sorted(Variables variables) {
  std::sort(variables.begin(), variables.end());
  return variables;
}

}  // namespace

TEST_CASE("without --user the target has the recorder's environment") {
  const auto variables = target_environment(kOurs, std::nullopt, false);
  CHECK(variables.size() == kOurs.size() - 1);
  CHECK(variables[5] == std::pair<std::string, std::string>("SECRET", "a=b"));
}

TEST_CASE("with --user the target has that user's environment and few of the recorder's variables") {
  CHECK(sorted(target_environment(kOurs, kAda, false)) ==
        Variables{{"CUDA_HOME", "/c"},
                  {"HOME", "/home/ada"},
                  {"LANG", "C"},
                  {"LC_ALL", "C"},
                  {"LOGNAME", "ada"},
                  {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
                  {"SHELL", "/bin/bash"},
                  {"TERM", "vt100"},
                  {"USER", "ada"}});
}

TEST_CASE("the recorder's environment is kept on request, except for the user's variables") {
  const auto variables = sorted(target_environment(kOurs, kAda, true));
  CHECK(variables.size() == kOurs.size() - 1);
  CHECK(std::count(variables.begin(), variables.end(), std::pair<std::string, std::string>("SECRET", "a=b")) == 1);
  CHECK(std::count(variables.begin(), variables.end(), std::pair<std::string, std::string>("USER", "ada")) == 1);
}

TEST_CASE("a user's target keeps the vendor variables that the backends declare") {
  for (const auto& backend : gpuprof::backend::make_all()) {
    for (const std::string_view beginning : backend->descriptor().vendor_variables) {
      const std::string name = std::string(beginning) + "X";
      const auto variables = target_environment(std::vector{name + "=1"}, kAda, false);
      CHECK(variables.front() == std::pair<std::string, std::string>(name, "1"));
    }
  }
}
