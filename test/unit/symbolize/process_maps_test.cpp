#include "symbolize/process_maps.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>

#include "base/files/safe_open.h"
#include "catch.h"
#include "child.h"
#include "symbolize/maps_line.h"

namespace gpuprof::symbolize::test {
namespace {

constexpr size_t kPage = 4096;

TEST_CASE("lines of /proc/PID/maps are parsed") {
  MapsLine line;
  REQUIRE(
      parse_maps_line("7f0012340000-7f0012350000 r-xp 0002f000 fe:1a 247101       /usr/lib/my lib.so (deleted)", line));
  CHECK(line.start == 0x7f0012340000);
  CHECK(line.end == 0x7f0012350000);
  CHECK(line.offset == 0x2f000);
  CHECK(line.device == makedev(0xfe, 0x1a));
  CHECK(line.inode == 247101);
  CHECK(line.executable);
  CHECK(line.path == "/usr/lib/my lib.so (deleted)");

  REQUIRE(parse_maps_line("1000-2000 rw-p 00000000 00:00 0 ", line));
  CHECK(line.path.empty());
  CHECK_FALSE(line.executable);
  REQUIRE(parse_maps_line("1000-2000 r-xp 00000000 00:00 0", line));
  CHECK(line.path.empty());
  REQUIRE(parse_maps_line("1000-2000 r-xp 00000000 fe:00 7 /a\\012b", line));
  CHECK(line.path == "/a\nb");
  REQUIRE(parse_maps_line("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]", line));
  CHECK(line.path == "[vsyscall]");

  for (const char* bad : {"", "1000", "1000-", "2000-1000 r-xp 0 0:0 0", "1000-2000 r-x", "x-y r-xp 0 0:0 0",
                          "1000-2000 r-xp zz fe:00 1", "11111111111111111-2 r-xp 0 0:0 0", "1000-2000 r-xp 0 0:0 -1"}) {
    INFO(bad);
    CHECK_FALSE(parse_maps_line(bad, line));
  }
}

TEST_CASE("unmapped memory stays known until other mappings replace it") {
  void* area = ::mmap(nullptr, 3 * kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(area != MAP_FAILED);
  const auto start = reinterpret_cast<uint64_t>(area);
  ProcessMaps maps(static_cast<uint32_t>(::getpid()), make_file_cache());
  REQUIRE(maps.refresh());
  REQUIRE(maps.find(start) != nullptr);
  CHECK(maps.find(start)->file == nullptr);

  REQUIRE(::munmap(area, 3 * kPage) == 0);
  REQUIRE(maps.refresh());
  CHECK(maps.find(start + kPage) != nullptr);

  // Mapping a file over the middle page must not change the mappings of the outer two pages.
  const int fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  void* middle =
      ::mmap(reinterpret_cast<char*>(area) + kPage, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
  ::close(fd);
  REQUIRE(middle != MAP_FAILED);
  REQUIRE(maps.refresh());
  REQUIRE(maps.find(start) != nullptr);
  CHECK(maps.find(start)->file == nullptr);
  CHECK(maps.find(start)->end == start + kPage);
  REQUIRE(maps.find(start + kPage) != nullptr);
  CHECK(maps.find(start + kPage)->file != nullptr);
  REQUIRE(maps.find(start + 2 * kPage) != nullptr);
  CHECK(maps.find(start + 2 * kPage)->file == nullptr);
  CHECK(maps.find(start + 2 * kPage)->start == start + 2 * kPage);
  ::munmap(middle, kPage);
}

TEST_CASE("mappings stay sorted and disjoint after any changes") {
  ProcessMaps maps(static_cast<uint32_t>(::getpid()), make_file_cache());
  uint32_t random = 12345;
  const auto next = [&random] { return random = random * 1664525 + 1013904223; };
  char* area = static_cast<char*>(::mmap(nullptr, 64 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(area != MAP_FAILED);
  for (int round = 0; round < 200; ++round) {
    const size_t first = (next() >> 8) % 60;
    const size_t pages = 1 + (next() >> 8) % 4;
    const int protection = (next() >> 8) % 2 == 0 ? PROT_NONE : PROT_READ | PROT_EXEC;
    REQUIRE(::mprotect(area + first * kPage, pages * kPage, protection) == 0);
    REQUIRE(maps.refresh());
    for (size_t i = 1; i < maps.mappings().size(); ++i) {
      REQUIRE(maps.mappings()[i - 1].end <= maps.mappings()[i].start);
      REQUIRE(maps.mappings()[i].start < maps.mappings()[i].end);
    }
    if (protection != PROT_NONE) {
      REQUIRE(maps.find(reinterpret_cast<uint64_t>(area) + first * kPage) != nullptr);
    }
  }
  ::munmap(area, 64 * kPage);
}

TEST_CASE("processes of a session share their open files") {
  const Child one("pie", fixture("chain_full.so"));
  const Child two("pie", fixture("chain_full.so"));
  const auto cache = make_file_cache();
  ProcessMaps first(one.pid(), cache);
  ProcessMaps second(two.pid(), cache);
  REQUIRE(first.refresh());
  REQUIRE(second.refresh());
  REQUIRE(first.find(one.outer()) != nullptr);
  REQUIRE(second.find(two.outer()) != nullptr);
  CHECK(first.find(one.outer())->file == second.find(two.outer())->file);
  const MappedFile* before = first.find(one.outer())->file.get();
  REQUIRE(first.refresh());
  CHECK(first.find(one.outer())->file.get() == before);
}

TEST_CASE("only regular files inside the given root are opened") {
  TemporaryDirectory directory;
  const std::string fifo = directory.path() + "/fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK_FALSE(open_regular(FileAccess{}, fifo));
  CHECK_FALSE(open_regular(FileAccess{}, "/dev/null"));
  CHECK_FALSE(open_regular(FileAccess{}, directory.path()));
  CHECK_FALSE(open_regular(FileAccess{}, directory.path() + "/missing"));

  std::ofstream(directory.path() + "/file") << "text";
  REQUIRE(::symlink("/etc/passwd", (directory.path() + "/out").c_str()) == 0);
  REQUIRE(::symlink("/file", (directory.path() + "/in").c_str()) == 0);
  const UniqueFd root_fd(::open(directory.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const FileAccess root{root_fd.get()};
  CHECK(open_regular(root, "/file"));
  CHECK(open_regular(root, "/in"));
  CHECK_FALSE(open_regular(root, "/out"));
  CHECK_FALSE(open_regular(root, "/../../../../etc/passwd"));
  CHECK_FALSE(open_regular_no_link(root, "/in"));
}

}  // namespace
}  // namespace gpuprof::symbolize::test
