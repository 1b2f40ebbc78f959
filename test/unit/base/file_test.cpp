#include "base/files/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "catch.h"

using namespace gpuprof;

namespace {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    char name[] = "/tmp/gpuprof_file_test.XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    for (const std::string& file : files()) {
      ::unlink((path_ + "/" + file).c_str());
    }
    ::rmdir(path_.c_str());
  }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    DIR* const folder = ::opendir(path_.c_str());
    REQUIRE(folder != nullptr);
    while (const dirent* entry = ::readdir(folder)) {
      if (entry->d_name[0] != '.') {
        names.emplace_back(entry->d_name);
      }
    }
    ::closedir(folder);
    return names;
  }

 private:
  std::string path_;
};

std::string content(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("output replaces a file atomically and leaves no other files") {
  const TemporaryFolder folder;
  REQUIRE(write_output(folder.file("a"), "first"));
  REQUIRE(write_output(folder.file("a"), "second"));
  CHECK(content(folder.file("a")) == "second");
  CHECK(folder.files() == std::vector<std::string>{"a"});
  struct stat info {};
  REQUIRE(::stat(folder.file("a").c_str(), &info) == 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  CHECK((info.st_mode & 0777U) == (0666U & ~mask));
}

TEST_CASE("output replaces a symbolic link and does not change the link's target") {
  const TemporaryFolder folder;
  REQUIRE(write_output(folder.file("target"), "old"));
  REQUIRE(::symlink(folder.file("target").c_str(), folder.file("link").c_str()) == 0);
  REQUIRE(write_output(folder.file("link"), "new"));
  CHECK(content(folder.file("target")) == "old");
  CHECK(content(folder.file("link")) == "new");
  struct stat info {};
  REQUIRE(::lstat(folder.file("link").c_str(), &info) == 0);
  CHECK(S_ISREG(info.st_mode));
}

TEST_CASE("output that cannot be created is an error") {
  const auto written = write_output("/nonexistent/folder/file", "x");
  REQUIRE_FALSE(written);
  CHECK(written.error().message.starts_with("cannot write /nonexistent/folder/file: "));
  CHECK(written.error().message.ends_with(": No such file or directory"));
  CHECK_FALSE(written.error().hint.empty());
  CHECK_FALSE(write_output("/tmp", "x"));
}

TEST_CASE("a closed pipe is an error without a message") {
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  const UniqueFd out(ends[1]);
  ::close(ends[0]);
  auto* const before = std::signal(SIGPIPE, SIG_IGN);
  const auto written = write_all(out.get(), "x", "pipe");
  std::signal(SIGPIPE, before);
  REQUIRE_FALSE(written);
  CHECK(written.error().message.empty());
  CHECK(written.error().exit_code == 141);
}

TEST_CASE("a missing input, or a folder as input, is an error with a hint") {
  const auto missing = open_input("/nonexistent.txt");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message == "cannot open /nonexistent.txt: No such file or directory");
  CHECK_FALSE(missing.error().hint.empty());
  const auto folder = open_input("/tmp");
  REQUIRE_FALSE(folder);
  CHECK(folder.error().message == "cannot read /tmp: Is a directory");
}

TEST_CASE("a device as input is an error, also behind a link, and is not opened") {
  const TemporaryFolder folder;
  REQUIRE(::symlink("/dev/ptmx", folder.file("link").c_str()) == 0);  // opening it creates a terminal
  for (const std::string& path : {std::string("/dev/ptmx"), folder.file("link")}) {
    const auto device = open_input(path);
    REQUIRE_FALSE(device);
    CHECK(device.error().message == "cannot read " + path + ": it is neither a file nor a pipe");
  }
}

TEST_CASE("a bounded read distinguishes a file that is too large from a failed read") {
  using End = BoundedText::End;
  const TemporaryFolder folder;
  const std::string text(10000, 'x');
  REQUIRE(write_output(folder.file("a"), text));
  const auto read = [&](const std::string& path, size_t most) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return read_bounded(fd.get(), most);
  };
  for (const size_t most : {text.size(), text.size() + 1, size_t{1} << 20U}) {
    const BoundedText whole = read(folder.file("a"), most);
    CHECK((whole.end == End::whole && whole.text == text));
  }
  for (const size_t most : {size_t{0}, size_t{2}, text.size() - 1}) {
    const BoundedText cut = read(folder.file("a"), most);
    CHECK((cut.end == End::too_large && cut.text == text.substr(0, most)));
  }
  CHECK(read("/dev/zero", 4096).end == End::too_large);
  CHECK(read("/dev/null", 0).end == End::whole);
  const BoundedText failed = read("/tmp", 100);
  CHECK((failed.end == End::failed && failed.error == EISDIR && failed.text.empty()));
}

TEST_CASE("read_text() cuts a file at the limit and returns nothing for a missing file") {
  const TemporaryFolder folder;
  REQUIRE(write_output(folder.file("a"), "#!/bin/sh"));
  CHECK(read_text(folder.file("a"), 2) == "#!");
  CHECK(read_text(folder.file("a"), 100) == "#!/bin/sh");
  CHECK(read_text(folder.file("none"), 100).empty());
  CHECK_FALSE(read_text("/proc/self/status", 100).empty());
}

TEST_CASE("read_text() reads no device and does not wait for a pipe's writer") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  CHECK(read_text(folder.file("pipe"), 100).empty());
  CHECK(read_text("/dev/zero", 100).empty());
}
