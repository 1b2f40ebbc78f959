#include "record/session/meta/source_commit.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "catch.h"

namespace gpuprof::record {
namespace {

const std::string kFirst(40, 'a');
const std::string kSecondCommit(64, '7');

std::string unset(const char* /*name*/) {
  return {};
}

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/gpuprof-unit.XXXXXX";
    path_ = ::mkdtemp(name);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    std::ofstream(*this / name) << text;
  }

 private:
  std::string path_;
};

TEST_CASE("the option for the commit precedes CI variables, which precede git") {
  const Folder folder;
  folder.write(".git/HEAD", kFirst + "\n");
  const auto ci = [](const char* name) { return std::string(name) == "CI_COMMIT_SHA" ? "of-gitlab" : ""; };
  CHECK(source_commit("v1.2", ci, folder / "") == "v1.2");
  CHECK(source_commit("", ci, folder / "") == "of-gitlab");
  CHECK(source_commit("", unset, folder / "") == kFirst);
  CHECK(source_commit("none", ci, folder / "").empty());
}

TEST_CASE("a packed-refs file that is too large is ignored, also at a cut line") {
  const Folder folder;
  folder.write(".git/HEAD", "ref: refs/heads/main\n");
  const std::string line = kFirst + " refs/heads/another\n";
  const size_t most = size_t{16} << 20U;  // the largest file that is read
  const std::string last = kSecondCommit + " refs/heads/main";
  std::string text;
  while (text.size() + line.size() + 1 + last.size() <= most) {
    text += line;
  }
  folder.write(".git/packed-refs", text + "\n" + last);
  CHECK(source_commit("", unset, folder / "") == kSecondCommit);
  text.resize(most - last.size() - 1, '#');
  folder.write(".git/packed-refs", text + "\n" + last + "line\n");  // the read limit cuts "mainline" to "main"
  CHECK(source_commit("", unset, folder / "").empty());
}

TEST_CASE("a branch is read from its file or from packed-refs, also from a subfolder") {
  const Folder folder;
  folder.write(".git/HEAD", "ref: refs/heads/main\n");
  folder.write(".git/packed-refs",
               "# pack-refs\n" + kFirst + " refs/heads/mainline\n" + kSecondCommit + " refs/heads/main\n");
  std::filesystem::create_directories(folder / "src/deep");
  CHECK(source_commit("", unset, folder / "src/deep") == kSecondCommit);
  folder.write(".git/refs/heads/main", kFirst + "\n");
  CHECK(source_commit("", unset, folder / "src/deep") == kFirst);
}

TEST_CASE("the commit of a linked work tree is found") {
  const Folder folder;
  folder.write("main/.git/worktrees/topic/HEAD", "ref: refs/heads/topic\n");
  folder.write("main/.git/worktrees/topic/commondir", "../..\n");
  folder.write("main/.git/refs/heads/topic", kSecondCommit + "\n");
  folder.write("topic/.git", "gitdir: ../main/.git/worktrees/topic\n");
  CHECK(source_commit("", unset, folder / "topic") == kSecondCommit);
}

TEST_CASE("only a commit is read from a repository, and reading never blocks") {
  const Folder folder;
  folder.write(".git/HEAD", "root:x:0:0\n");
  CHECK(source_commit("", unset, folder / "").empty());
  folder.write(".git/HEAD", "ref: ../secret\n");
  folder.write("secret", kFirst + "\n");
  CHECK(source_commit("", unset, folder / "").empty());
  folder.write(".git/HEAD", "ref: refs/../../secret\n");
  CHECK(source_commit("", unset, folder / "").empty());
  std::filesystem::remove(folder / ".git/HEAD");
  REQUIRE(::mkfifo((folder / ".git/HEAD").c_str(), 0600) == 0);
  CHECK(source_commit("", unset, folder / "").empty());
}

}  // namespace
}  // namespace gpuprof::record
