#include "base/files/output_file.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/files/file.h"
#include "base/files/open_folder.h"
#include "catch.h"

using namespace gpuprof;
namespace fs = std::filesystem;

namespace {

const OutputOptions kKeepOld{.keep_old = true, .mode = 0644, .stop = {}};
constexpr uid_t kOther = 12345;  // a user id that need not exist

// Creates a temporary folder. Its path has no symbolic links, because messages show resolved paths.
class Folder {
 public:
  Folder() : path_(fs::canonical(fs::temp_directory_path()) / "gpuprof-output-XXXXXX") {
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] size_t size() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  std::string path_;
};

std::string content_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

// Gives a link to another user, which only root can do.
bool give_away(const std::string& path) {
  return ::geteuid() == 0 && ::lchown(path.c_str(), kOther, kOther) == 0;
}

bool refuses(const std::string& name, const std::string& why) {
  const auto file = OutputFile::open(name, kKeepOld);
  return !file && file.error().message.find(why) != std::string::npos && !file.error().hint.empty();
}

}  // namespace

TEST_CASE("an existing file is kept as .old, and an uncommitted output does not replace it") {
  const Folder folder;
  const std::string path = folder / "profile";
  write_file(path, "first");
  { REQUIRE(OutputFile::open(path, kKeepOld).ok()); }
  CHECK(content_of(path) == "first");
  CHECK(folder.size() == 1);
  auto output = OutputFile::open(path, kKeepOld);
  REQUIRE(output.ok());
  CHECK(output->commit().ok());
  CHECK(output->commit().ok());  // a second commit is harmless
  const UniqueFd fd = output->take_fd();
  REQUIRE(write_all(fd.get(), "second", path));
  const auto place = output->finish();
  REQUIRE(place.ok());
  CHECK(*place == path);
  CHECK(content_of(path) == "second");
  CHECK(content_of(path + ".old") == "first");
  CHECK(folder.size() == 2);
}

TEST_CASE("numbered files of an earlier output are set aside, and nothing else is") {
  const Folder folder;
  for (const char* const name :
       {"a.1.txt", "a.23.txt", "a.4.txt", "a.1.csv", "a..txt", "a.x.txt", "a.1.2.txt", "b.1.txt"}) {
    write_file(folder / name, name == std::string("a.4.txt") ? "no" : "yes");
  }
  write_file(folder / "a.1.txt.old", "older");
  write_file(folder / "away", "yes");
  fs::create_symlink("away", folder / "a.5.txt");
  REQUIRE(::mkfifo((folder / "a.6.txt").c_str(), 0600) == 0);
  fs::create_directory(folder / "a.7.txt");
  fs::create_directory(folder / "a.23.txt.old");
  auto file = OutputFile::open(folder / "a.txt", kKeepOld);
  REQUIRE(file);
  REQUIRE(file->commit());
  auto written = OutputFile::open(folder / "a.8.txt", kKeepOld);  // still being written
  REQUIRE(written);
  const UniqueFd open = written->take_fd();
  REQUIRE(write_all(open.get(), "yes", "a.8.txt"));
  REQUIRE(written->commit());
  const size_t before = folder.size();
  file->set_aside_numbered([](int fd) {
    char first = 0;
    return ::pread(fd, &first, 1, 0) == 1 && first == 'y';
  });
  CHECK(content_of(folder / "a.1.txt.old") == "yes");
  CHECK_FALSE(fs::exists(folder / "a.1.txt"));
  CHECK(fs::exists(folder / "a.23.txt"));  // its .old is a folder
  CHECK(fs::exists(folder / "a.4.txt"));
  CHECK(folder.size() == before - 1);
}

TEST_CASE("a replaced file never gains permissions beyond those of a new file") {
  const Folder folder;
  const std::string path = folder / "out";
  const auto mode_after = [&] {
    auto file = OutputFile::open(path, kKeepOld);
    REQUIRE(file);
    REQUIRE(file->finish());
    struct stat info {};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    return info.st_mode & 0777U;
  };
  write_file(path, "old");
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  CHECK(mode_after() == 0600);
  write_file(path, "old");
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  CHECK((mode_after() & 0022U) == 0);
}

TEST_CASE("a file that is a mount point is rejected before anything is written") {
  const Folder folder;
  write_file(folder / "out", "");
  write_file(folder / "other", "");
  if (::mount((folder / "other").c_str(), (folder / "out").c_str(), nullptr, MS_BIND, nullptr) != 0) {
    WARN("skipped: no right to mount");
    return;
  }
  const bool refused = refuses(folder / "out", "mount point");
  REQUIRE(::umount((folder / "out").c_str()) == 0);
  CHECK(refused);
}

TEST_CASE("paths that cannot name a file are rejected") {
  const Folder folder;
  CHECK(refuses("", "empty"));
  for (const std::string name : {"/", ".", "..", "./", "/tmp/..", "/tmp/."}) {
    CHECK(refuses(name, "Is a directory"));
  }
  CHECK(refuses(folder / "", "Is a directory"));
  CHECK(refuses(folder / "no/such/file", "No such file or directory"));
  write_file(folder / "file", "x");
  CHECK(refuses(folder / "file/below", "Not a directory"));
  CHECK(refuses(folder / std::string(300, 'x'), "File name too long"));
  CHECK(OutputFile::open(folder / std::string(250, 'x'), {}).ok());
}

TEST_CASE("a path is resolved through parent folders and symbolic links") {
  const Folder folder;
  fs::create_directories(folder / "a/b");
  fs::create_directory_symlink("a/./b", folder / "link");
  fs::create_directory_symlink(folder / "link", folder / "absolute");
  for (const std::string way : {"a//b/", "a/b/../b/./", "link/", "absolute/../b/"}) {
    const std::string path = folder / (way + "file");
    REQUIRE(write_output(path, way));
    CHECK(content_of(folder / "a/b/file") == way);
  }
  fs::create_directory_symlink("loop", folder / "loop");
  CHECK(refuses(folder / "loop/file", "Too many levels of symbolic links"));
}

TEST_CASE("links of other users are neither followed nor written through") {
  const Folder folder;
  fs::create_directory(folder / "there");
  fs::create_directory_symlink(folder / "there", folder / "way");
  write_file(folder / "target", "mine");
  fs::create_symlink(folder / "target", folder / "name");
  if (!give_away(folder / "way") || !give_away(folder / "name")) {
    WARN("not root: links of others cannot be made");
    return;
  }
  CHECK(refuses(folder / "way/file", "symbolic link of another user"));
  REQUIRE(write_output(folder / "name", "new"));
  CHECK(content_of(folder / "target") == "mine");
  CHECK(content_of(folder / "name") == "new");
}

TEST_CASE("a link of the user to something other than a file is kept") {
  const Folder folder;
  fs::create_symlink("/dev/null", folder / "null");
  fs::create_symlink("/", folder / "root");
  CHECK(refuses(folder / "null", "symbolic link"));
  CHECK(refuses(folder / "root", "symbolic link"));
  CHECK(fs::is_symlink(folder / "null"));
}

TEST_CASE("an obstacle to keeping the old file is reported before anything is written") {
  const Folder folder;
  const std::string path = folder / "profile";
  fs::create_directory(path + ".old");
  CHECK(OutputFile::open(path, kKeepOld).ok());  // no old file exists
  write_file(path, "first");
  CHECK(refuses(path, "that is a directory"));
  CHECK(OutputFile::open(path, {}).ok());
  CHECK(content_of(path) == "first");
}

TEST_CASE("a file that cannot get its name keeps a temporary name, which a hint reports") {
  const Folder folder;
  const std::string path = folder / "profile";
  std::string hint;
  {
    auto file = OutputFile::open(path, kKeepOld);
    REQUIRE(file.ok());
    REQUIRE(write_all(file->take_fd().get(), "whole", path));
    write_file(path, "older");  // the file and the folder appear while the target runs
    fs::create_directories(path + ".old/in the way");
    CHECK_FALSE(file->commit().ok());
    const auto named = file->finish();
    REQUIRE_FALSE(named.ok());
    hint = named.error().hint;
    CHECK(named.error().exit_code != 0);
  }
  const std::string start = "it is kept as ";
  REQUIRE(hint.starts_with(start));
  CHECK(content_of(hint.substr(start.size())) == "whole");
}

TEST_CASE("a file is found again after its folder has moved") {
  const Folder folder;
  fs::create_directory(folder / "out");
  auto file = OutputFile::open(folder / "out/profile", kKeepOld);
  REQUIRE(file.ok());
  fs::rename(folder / "out", folder / "moved");
  fs::create_directory(folder / "out");
  write_file(folder / "out/profile", "of somebody else");
  const auto place = file->finish();
  REQUIRE(place.ok());
  CHECK(*place == folder / "moved/profile");
  CHECK(fs::is_regular_file(*place));
  CHECK(content_of(folder / "out/profile") == "of somebody else");
  fs::remove(*place);
  CHECK_FALSE(file->place().has_value());
  CHECK_FALSE(file->finish().ok());
}

TEST_CASE("descriptors are found by names such as /dev/stdout") {
  CHECK(descriptor_named("/dev/stdout") == 1);
  CHECK(descriptor_named("/dev/stdin") == 0);
  CHECK(descriptor_named("/dev/stderr") == 2);
  CHECK(descriptor_named("/dev/fd/63") == 63);
  CHECK(descriptor_named("/proc/self/fd/7") == 7);
  for (const std::string name :
       {"/dev/fd/", "/dev/fd/1/x", "/dev/fd/-1", "/dev/fd/ 1", "/dev/fd/99999999999", "-", "1"}) {
    CHECK_FALSE(descriptor_named(name).has_value());
  }
  int ends[2] = {};
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd in(ends[0]);
  const UniqueFd out(ends[1]);
  REQUIRE(write_output("/dev/fd/" + std::to_string(out.get()), "through"));
  char text[16] = {};
  CHECK(::read(in.get(), text, sizeof(text)) == 7);
  CHECK(std::string(text) == "through");
  CHECK(refuses("/dev/fd/" + std::to_string(in.get()), "reading only"));
  CHECK(refuses("/dev/fd/987654", "closed"));
}

TEST_CASE("messages name the file of a descriptor, without the end of its temporary name") {
  const Folder folder;
  auto file = OutputFile::open(folder / "run-1.txt", kKeepOld);
  REQUIRE(file);
  const UniqueFd fd = file->take_fd();
  const auto through = OutputFile::open("/dev/fd/" + std::to_string(fd.get()), kKeepOld);
  REQUIRE(through);
  CHECK(through->name() == folder / "run-1.txt");
  REQUIRE(file->commit());
  CHECK(OutputFile::open("/dev/fd/" + std::to_string(fd.get()), kKeepOld)->name() == folder / "run-1.txt");
}

TEST_CASE("devices and pipes are written to directly") {
  const Folder folder;
  CHECK(write_output("/dev/null", "x"));
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  int asked = 0;
  const auto stop = [&asked] { return ++asked == 2; };
  const auto unread = OutputFile::open(path, {.keep_old = false, .mode = 0644, .stop = stop});
  REQUIRE_FALSE(unread.ok());
  CHECK(asked == 2);
  const UniqueFd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  auto file = OutputFile::open(path, kKeepOld);
  REQUIRE(file.ok());
  CHECK(file->finish().ok());
  CHECK(file->place() == path);
  const UniqueFd fd = file->take_fd();
  CHECK((::fcntl(fd.get(), F_GETFL) & O_NONBLOCK) == 0);
  CHECK(::write(fd.get(), "x", 1) == 1);
  CHECK(folder.size() == 1);
  if (give_away(path)) {
    CHECK(refuses(path, "pipe of another user"));
  }
}

TEST_CASE("waiting for a blocked reader can be cancelled") {
  int ends[2] = {};
  REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  std::atomic<bool> give_up = false;
  CHECK(wait_until_writable(out.get(), give_up));
  const std::string much(4096, 'x');
  while (::write(out.get(), much.data(), much.size()) > 0) {
  }
  give_up = true;
  CHECK_FALSE(wait_until_writable(out.get(), give_up));
}
