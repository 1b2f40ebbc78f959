#include "base/files/file_rights.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "catch.h"

namespace gpuprof {
namespace {

constexpr uint64_t kOverride = 1 << 1;  // CAP_DAC_OVERRIDE
constexpr uint64_t kSearch = 1 << 2;    // CAP_DAC_READ_SEARCH

std::string status_of(const std::string& uids, const std::string& gids, const std::string& groups,
                      const std::string& capabilities) {
  return "Name:\tUid:\nUmask:\t0022\nUid:\t" + uids + "\nGid:\t" + gids + "\nFDSize:\t64\nGroups:\t" + groups +
         " \nCapEff:\t" + capabilities + "\nCapBnd:\t000001ffffffffff\n";
}

bool can_read(const std::string& path) {
  return static_cast<bool>(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
}

// Creates files that only root, or only another user or group, can read.
class Files {
 public:
  Files() {
    std::string name = "/tmp/gpuprof-rights-XXXXXX";
    path_ = ::mkdtemp(name.data());
    ::chmod(path_.c_str(), 0755);
    for (const char* file : {"of_root", "of_user", "of_group"}) {
      std::ofstream(path(file)) << "text";
    }
    ::chmod(path("of_root").c_str(), 0600);
    ::chmod(path("of_user").c_str(), 0600);
    ::chmod(path("of_group").c_str(), 0640);
    made_ = ::chown(path("of_user").c_str(), 12345, 12345) == 0 && ::chown(path("of_group").c_str(), 0, 23456) == 0;
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() { std::filesystem::remove_all(path_); }
  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + '/' + name; }

 private:
  std::string path_;
  bool made_ = false;
};

}  // namespace

TEST_CASE("the rights of a process are read from its status") {
  const auto user = parse_file_rights(
      status_of("1000\t1000\t1000\t1000", "100\t100\t100\t100", "4 24 100", "0000000000000006"), true);
  REQUIRE(user);
  CHECK(*user == FileRights{1000, 100, {4, 24, 100}, 0});
  const auto root = parse_file_rights(status_of("0\t0\t0\t0", "0\t0\t0\t0", "", "000001ffffffffff"), true);
  REQUIRE(root);
  CHECK(*root == FileRights{0, 0, {}, kOverride | kSearch});
  // The root user of a container has only the capabilities of the container. The root user of another user namespace
  // has none.
  CHECK(parse_file_rights(status_of("0\t0\t0\t0", "0\t0\t0\t0", "", "0000000000000004"), true)->capabilities ==
        kSearch);
  CHECK(parse_file_rights(status_of("0\t0\t0\t0", "0\t0\t0\t0", "", "000001ffffffffff"), false)->capabilities == 0);
  // A root daemon that acts for a user, and a set-user-id root program of a user, get the user's rights.
  CHECK(parse_file_rights(status_of("0\t1000\t0\t1000", "0\t5\t0\t5", "", "0"), true) == FileRights{1000, 5, {}, 0});
  CHECK(parse_file_rights(status_of("1000\t0\t0\t0", "5\t0\t0\t0", "5", "000001ffffffffff"), true) ==
        FileRights{1000, 5, {5}, 0});
  for (const std::string& bad :
       {std::string(), std::string("Uid:\t0\t0\t0\t0\n"), status_of("0\t0\t0", "0\t0\t0\t0", "", "0"),
        status_of("x\t0\t0\t0", "0\t0\t0\t0", "", "0"), status_of("0\t0\t0\t0", "0\t0\t0\t99999999999", "", "0"),
        status_of("0\t0\t0\t0", "0\t0\t0\t0", "-1", "0"), status_of("0\t0\t0\t0", "0\t0\t0\t0", "", "")}) {
    CHECK_FALSE(parse_file_rights(bad, true));
  }
}

TEST_CASE("the rights of this process are read, and reading those of an invalid process fails") {
  const UniqueFd self(::open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto rights = read_file_rights(self.get());
  REQUIRE(rights);
  CHECK(rights->uid == (::getuid() == 0 ? ::geteuid() : ::getuid()));
  CHECK_FALSE(read_file_rights(-1));
}

TEST_CASE("rights can only be narrowed") {
  const FileRights root{0, 0, {}, kOverride | kSearch};
  const FileRights few{0, 0, {1}, 0};
  const FileRights user{1000, 100, {4, 24}, 0};
  CHECK(narrowed(root, root) == root);
  CHECK(narrowed(root, user) == user);
  CHECK(narrowed(few, root).capabilities == 0);
  CHECK(narrowed(user, root) == user);
  CHECK(narrowed(user, {1001, 100, {4}, 0}) == user);
  CHECK(narrowed(user, {1000, 24, {4, 42}, 0}) == FileRights{1000, 24, {4}, 0});
  CHECK(narrowed(user, {1000, 42, {}, 0}) == FileRights{1000, 100, {}, 0});
}

TEST_CASE("a thread acts with the rights of another user, and then with its own again") {
  const Files files;
  if (!files.made()) {
    WARN("skipped: needs root");
    return;
  }
  const auto own = [&] { return can_read(files.path("of_root")) && can_read(files.path("of_user")); };
  REQUIRE(own());
  const FileRights user{12345, 12345, {}, 0};
  {
    const ActAs as(&user);
    REQUIRE(as.ok());
    CHECK_FALSE(can_read(files.path("of_root")));
    CHECK(can_read(files.path("of_user")));
    CHECK_FALSE(can_read(files.path("of_group")));
  }
  CHECK(own());
  const FileRights member{54321, 54321, {23456}, 0};
  {
    const ActAs as(&member);
    REQUIRE(as.ok());
    CHECK_FALSE(can_read(files.path("of_user")));
    CHECK(can_read(files.path("of_group")));
  }
  CHECK(own());
  const FileRights powerless_root{0, 0, {}, 0};
  {
    const ActAs as(&powerless_root);
    REQUIRE(as.ok());
    CHECK(can_read(files.path("of_root")));
    CHECK_FALSE(can_read(files.path("of_user")));
  }
  CHECK(own());
  {
    const ActAs as(nullptr);
    CHECK(own());
  }
}

TEST_CASE("other threads keep their rights while one thread acts with fewer") {
  const Files files;
  if (!files.made()) {
    WARN("skipped: needs root");
    return;
  }
  const FileRights user{12345, 12345, {}, 0};
  bool always = true;
  std::thread other([&] {
    for (int i = 0; i < 2000; ++i) {
      always = always && can_read(files.path("of_root"));
    }
  });
  for (int i = 0; i < 500; ++i) {
    const ActAs as(&user);
    REQUIRE(as.ok());
    REQUIRE_FALSE(can_read(files.path("of_root")));
  }
  other.join();
  CHECK(always);
}

}  // namespace gpuprof
