#include "record/target/library_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "catch.h"

namespace fs = std::filesystem;
using gpuprof::UniqueFd;
using gpuprof::record::LibraryDir;
using gpuprof::record::open_safe_folder;

namespace {

// Creates a folder in /tmp that every user may traverse.
class Scratch {
 public:
  Scratch() {
    std::string name = "/tmp/gpuprof-test-XXXXXX";
    path_ = ::mkdtemp(name.data());
    ::chmod(path_.c_str(), 0755);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { fs::remove_all(path_); }
  [[nodiscard]] std::string make(const std::string& name, mode_t mode) const {
    std::string path = path_ + "/" + name;
    fs::create_directories(path);
    ::chmod(path.c_str(), mode);
    return path;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Tmpdir {
 public:
  explicit Tmpdir(const std::string& path) {
    if (const char* old = std::getenv("TMPDIR")) {
      old_ = old;
    }
    ::setenv("TMPDIR", path.c_str(), 1);
  }
  Tmpdir(const Tmpdir&) = delete;
  Tmpdir& operator=(const Tmpdir&) = delete;
  ~Tmpdir() { old_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", old_.c_str(), 1); }

 private:
  std::string old_;
};

std::string why_not(const std::string& path, bool for_everybody = false) {
  const auto folder = open_safe_folder(path, for_everybody);
  return folder ? "" : folder.error().message;
}

size_t entries(const std::string& path) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("a folder is safe if no other user can change its path") {
  const Scratch scratch;
  const std::string good = scratch.make("good", 0700);
  CHECK(why_not("/").empty());
  CHECK(why_not("/tmp").empty());
  CHECK(why_not(good).empty());
  CHECK(why_not(good, true) == good + " cannot be entered by other users");
  CHECK(open_safe_folder(good + "/.//../good/", false)->path == good);
  CHECK(open_safe_folder("/", false)->path.empty());
  const std::string open = scratch.make("open", 0777);
  const std::string below = scratch.make("open/below", 0755);
  CHECK(why_not(open) == open + " can be written to by other users");
  CHECK(why_not(below) == open + " can be written to by other users");
  CHECK(why_not(scratch.make("group", 0775)).find("can be written to") != std::string::npos);
  CHECK(why_not(scratch.make("sticky", 01777)).empty());
  CHECK(why_not(scratch.path() + "/none") == "cannot open " + scratch.path() + "/none: No such file or directory");
  std::ofstream(scratch.path() + "/file") << "text";
  CHECK_FALSE(why_not(scratch.path() + "/file").empty());
  // For a symbolic link, the folder that it leads to is checked.
  fs::create_symlink(open, scratch.path() + "/to-open");
  fs::create_symlink(good, scratch.path() + "/to-good");
  CHECK(why_not(scratch.path() + "/to-open") == open + " can be written to by other users");
  CHECK(open_safe_folder(scratch.path() + "/to-good", false)->path == good);
  if (::geteuid() == 0) {
    CHECK(::chown(good.c_str(), 65534, 65534) == 0);
    CHECK(why_not(good) == good + " belongs to another user");
  }
}

TEST_CASE("libraries are unpacked for every user and removed at the end") {
  const Scratch scratch;
  const Tmpdir tmpdir(scratch.path());
  const std::vector<unsigned char> bytes(100000, 7);
  {
    auto made = LibraryDir::make();
    REQUIRE(made.ok());
    LibraryDir directory = std::move(*made);
    CHECK(directory.path().starts_with(scratch.path() + "/"));
    CHECK(directory.unpack({"libone.so", bytes}).ok());
    CHECK_FALSE(directory.unpack({"libone.so", bytes}).ok());  // the file exists already
    struct stat info {};
    CHECK(::stat((directory.path() + "/libone.so").c_str(), &info) == 0);
    CHECK((info.st_mode & 07777) == 0755);
    CHECK(info.st_size == 100000);
    CHECK(::stat(directory.path().c_str(), &info) == 0);
    CHECK((info.st_mode & 07777) == 0711);
  }
  CHECK(entries(scratch.path()) == 0);
}

TEST_CASE("only folders that no live recorder has locked are removed") {
  const Scratch scratch;
  const Tmpdir tmpdir(scratch.path());
  const std::string stale = scratch.make("gpuprof-libraries-stale", 0711);
  std::ofstream(stale + "/libone.so") << "text";
  const std::string live = scratch.make("gpuprof-libraries-live", 0711);
  const std::string other = scratch.make("another", 0711);
  fs::create_directory_symlink(other, scratch.path() + "/gpuprof-libraries-link");
  std::ofstream(other + "/file") << "text";
  const UniqueFd lock(::open(live.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(::flock(lock.get(), LOCK_EX | LOCK_NB) == 0);
  {
    const auto first = LibraryDir::make();
    REQUIRE(first.ok());
    CHECK_FALSE(fs::exists(stale));
    const auto second = LibraryDir::make();
    REQUIRE(second.ok());
    CHECK(fs::exists(first->path()));
  }
  CHECK(fs::exists(live));
  CHECK(fs::exists(other + "/file"));
  CHECK(entries(scratch.path()) == 3);
}
