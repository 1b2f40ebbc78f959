// Tests that files are opened with the rights of the process that maps them. The tests need root.
#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "catch.h"
#include "child.h"
#include "name_address.h"
#include "symbolize/debug_opener.h"
#include "symbolize/elf/debug_files.h"
#include "symbolize/process_maps.h"
#include "symbolize/symbolizer.h"

namespace gpuprof::symbolize::test {
namespace {

namespace fs = std::filesystem;
constexpr uid_t kUser = 12345;

// Starts a process that maps a file as code while it is root, and then drops its rights.
class Dropped {
 public:
  explicit Dropped(const std::string& mapped) {
    std::array<int, 2> pipe{};
    REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int fd = ::open(mapped.c_str(), O_RDONLY | O_CLOEXEC);
      void* place = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
      const bool dropped = place != MAP_FAILED && ::setgroups(0, nullptr) == 0 && ::setgid(kUser) == 0 &&
                           ::setuid(kUser) == 0 && ::write(pipe[1], static_cast<const void*>(&place), sizeof place) > 0;
      while (dropped) {
        ::pause();
      }
      ::_exit(1);
    }
    ::close(pipe[1]);
    void* place = nullptr;
    ready_ = ::read(pipe[0], static_cast<void*>(&place), sizeof place) == static_cast<ssize_t>(sizeof place);
    address_ = reinterpret_cast<uint64_t>(place);
    ::close(pipe[0]);
  }
  Dropped(const Dropped&) = delete;
  Dropped& operator=(const Dropped&) = delete;
  ~Dropped() { stop(); }
  void stop() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(std::exchange(pid_, -1), nullptr, 0);
    }
  }
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  [[nodiscard]] uint64_t address() const { return address_; }

 private:
  pid_t pid_ = -1;
  uint64_t address_ = 0;
  bool ready_ = false;
};

std::string copy(const TemporaryDirectory& directory, const char* name, mode_t mode) {
  const std::string path = directory.path() + '/' + name;
  fs::copy_file(fixture("chain_full.so"), path);
  REQUIRE(::chmod(path.c_str(), mode) == 0);
  return path;
}

bool needs_root() {
  if (::geteuid() != 0) {
    WARN("skipped: needs root");
  }
  return ::geteuid() == 0;
}

TEST_CASE("files that a process may no longer read are not opened for it") {
  if (!needs_root()) {
    return;
  }
  TemporaryDirectory directory;
  REQUIRE(::chmod(directory.path().c_str(), 0755) == 0);
  const std::string secret = copy(directory, "secret.so", 0600);
  const std::string plain = copy(directory, "plain.so", 0644);
  for (const bool readable : {true, false}) {
    INFO(readable);
    Dropped process(readable ? plain : secret);
    REQUIRE(process.ready());
    ProcessMaps maps(process.pid(), make_file_cache());
    REQUIRE(maps.refresh());
    const Mapping* mapping = maps.find(process.address());
    REQUIRE(mapping != nullptr);
    REQUIRE(mapping->file);
    CHECK(static_cast<bool>(mapping->file->fd) == readable);
    Symbolizer symbolizer;
    std::vector<SymbolizedFrame> frames;
    name_address(symbolizer, maps, process.address() + 0x40, false, frames);
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].build_id.empty() != readable);

    CHECK(maps.open_file(plain) != nullptr);
    CHECK(maps.open_file(secret) == nullptr);
    process.stop();
    CHECK(maps.open_file(plain) != nullptr);  // the rights of the ended process still apply
    CHECK(maps.open_file(secret) == nullptr);
    CHECK_FALSE(maps.refresh());
    CHECK(maps.open_file(secret) == nullptr);
  }
}

TEST_CASE("no file is opened for a process that ended before its rights were read") {
  if (!needs_root()) {
    return;
  }
  TemporaryDirectory directory;
  const std::string plain = copy(directory, "plain.so", 0644);
  Dropped process(plain);
  REQUIRE(process.ready());
  ProcessMaps maps(process.pid(), make_file_cache());
  process.stop();
  CHECK_FALSE(maps.refresh());
  CHECK_FALSE(maps.file_access());
  CHECK(maps.open_file(plain) == nullptr);
}

TEST_CASE("rights on the folders of a path are checked, too") {
  if (!needs_root()) {
    return;
  }
  TemporaryDirectory directory;  // its mode is 0700
  const std::string plain = copy(directory, "plain.so", 0644);
  CHECK(open_regular(FileAccess{}, plain));
  CHECK_FALSE(open_regular(FileAccess{kOwnRoot, FileRights{kUser, kUser, {}, 0}}, plain));
  REQUIRE(::chmod(directory.path().c_str(), 0711) == 0);
  CHECK(open_regular(FileAccess{kOwnRoot, FileRights{kUser, kUser, {}, 0}}, plain));
}

TEST_CASE("a debug file is found only if the process may read it") {
  if (!needs_root()) {
    return;
  }
  TemporaryDirectory directory;
  REQUIRE(::chmod(directory.path().c_str(), 0755) == 0);
  const UniqueFd fd(::open(fixture("chain_id.so").c_str(), O_RDONLY | O_CLOEXEC));
  const auto image = ElfImage::parse(ByteSource::file(fd.get()));
  REQUIRE(image);
  const std::string id = image->build_id();
  REQUIRE(id.size() == 40);
  const std::string folder = directory.path() + "/.build-id/" + id.substr(0, 2);
  fs::create_directories(folder);
  const std::string debug = folder + '/' + id.substr(2) + ".debug";
  fs::copy_file(fixture("chain_id.debug"), debug);
  REQUIRE(::chmod(debug.c_str(), 0600) == 0);

  ReadingBudget budget({}, {});
  const auto is_found = [&](std::optional<FileAccess> access) {
    DebugOpener files(std::move(access), false, budget);
    const DebugSearch search{.directories = {directory.path()}, .files = &files};
    return static_cast<bool>(find_debug_file(*image, "/nowhere/chain_id.so", search, budget).fd);
  };
  const FileAccess users{kOwnRoot, FileRights{kUser, kUser, {}, 0}};
  CHECK(is_found(FileAccess{}));
  CHECK_FALSE(is_found(users));
  REQUIRE(::chmod(debug.c_str(), 0644) == 0);
  CHECK(is_found(users));
  CHECK_FALSE(is_found(std::nullopt));
}

TEST_CASE("a perf map that its process may not read is ignored") {
  if (!needs_root()) {
    return;
  }
  TemporaryDirectory directory;
  const std::string secret = copy(directory, "secret", 0600);
  CHECK(open_regular_no_link(FileAccess{}, secret));
  CHECK_FALSE(open_regular_no_link(FileAccess{kOwnRoot, FileRights{kUser, kUser, {}, 0}}, secret));
}

}  // namespace
}  // namespace gpuprof::symbolize::test
