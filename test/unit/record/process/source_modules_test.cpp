
#include "record/process/code/source_modules.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "catch.h"
#include "join_rig.h"

using gpuprof::UniqueFd;
using gpuprof::backend::Module;
using gpuprof::record::MappingsOver;
using gpuprof::record::SourceModules;
using gpuprof::symbolize::ProcessMaps;

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kModuleBytes = 3 * kPage;

// Creates two files. map() maps one of them, without its first page, always at the same address.
struct Files {
  Files() {
    std::string text = (std::filesystem::temp_directory_path() / "gpuprof_modules_XXXXXX").string();
    REQUIRE(::mkdtemp(text.data()) != nullptr);
    folder = text;
    write(path("a"), 'a');
    write(path("b"), 'b');
    place = ::mmap(nullptr, 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(place != MAP_FAILED);
  }
  ~Files() {
    ::munmap(place, 2 * kPage);
    std::filesystem::remove_all(folder);
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  [[nodiscard]] std::string path(const char* name) const { return (folder / name).string(); }
  static void write(const std::string& path, char what) {
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << std::string(kModuleBytes, what);
  }
  void map(const char* name) const {
    const UniqueFd file(::open(path(name).c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(::mmap(place, 2 * kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file.get(), kPage) == place);
  }
  [[nodiscard]] uint64_t start() const { return reinterpret_cast<uint64_t>(place); }

  // Builds the module record that a process would send for a file in which each byte is `what`.
  [[nodiscard]] Module module(uint32_t number, const std::string& its_path, char what) {
    mark.offset = 100;
    mark.bytes.fill(static_cast<std::byte>(what));
    return {.module = number,
            .start = start(),
            .end = start() + 2 * kPage,
            .offset = kPage,
            .marks = {&mark, 1},
            .path = its_path};
  }

  std::filesystem::path folder;
  void* place = nullptr;
  Module::Mark mark;
};

ProcessMaps own_maps() {
  ProcessMaps maps(static_cast<uint32_t>(::getpid()), gpuprof::symbolize::make_file_cache());
  REQUIRE(maps.refresh());
  return maps;
}

struct Two {
  Two() {
    files.map("a");
    modules.add(files.module(1, files.path("a"), 'a'));
    modules.add(files.module(2, files.path("b"), 'b'));
    word = files.start() + 10;
  }
  MappingsOver over(uint32_t module, uint64_t address) {
    const uint64_t words[] = {0x1000, address};
    const uint32_t numbers[] = {module};
    const MappingsOver found = modules.over(own_maps(), words, numbers);
    CHECK(modules.agree(own_maps(), words, numbers) == found.empty());
    return found;
  }
  Files files;
  SourceModules modules;
  uint64_t word = 0;
};

}  // namespace

TEST_CASE("a file that is still mapped needs no replacement mapping") {
  Two two;
  CHECK(two.over(1, two.word).empty());
  CHECK(two.over(7, two.word).empty());  // module 7 is unknown
  std::filesystem::remove(two.files.path("a"));
  CHECK(two.over(1, two.word).empty());
}

TEST_CASE("a file whose address another file has taken is found by its path") {
  Two two;
  const MappingsOver over = two.over(2, two.word);
  REQUIRE(over.size() == 1);
  CHECK((over[0]->start == two.files.start() && over[0]->end == over[0]->start + 2 * kPage));
  CHECK(over[0]->offset == kPage);
  REQUIRE(over[0]->file != nullptr);
  CHECK(over[0]->file->path == two.files.path("b"));
  CHECK(static_cast<bool>(over[0]->file->fd));
  CHECK(two.over(2, two.word)[0] == over[0]);  // all stacks share one mapping object
  // over() returns no mapping for an address outside of the module, or for a Python frame.
  CHECK(two.over(2, two.files.start() + 2 * kPage).empty());
  CHECK(two.over(2, GPUPROF_WORD_PYTHON | two.word).empty());
}

TEST_CASE("a file that was replaced on disk is not used") {
  Two two;
  SECTION("replaced by another file") {
    Files::write(two.files.path("b"), 'c');
  }
  SECTION("deleted") {
    std::filesystem::remove(two.files.path("b"));
  }
  SECTION("replaced by a pipe") {
    std::filesystem::remove(two.files.path("b"));
    REQUIRE(::mkfifo(two.files.path("b").c_str(), 0600) == 0);
  }
  SECTION("truncated") {
    std::filesystem::resize_file(two.files.path("b"), 101);
  }
  const MappingsOver over = two.over(2, two.word);
  REQUIRE(over.size() == 1);
  CHECK(over[0]->name == two.files.path("b"));
  REQUIRE(over[0]->file != nullptr);
  CHECK_FALSE(static_cast<bool>(over[0]->file->fd));
}

TEST_CASE("a mapped file that was overwritten in place is not taken for the module") {
  Two two;
  const ProcessMaps maps = own_maps();
  const uint64_t words[] = {two.word};
  const uint32_t first = 1;
  std::ofstream(two.files.path("a"), std::ios::app) << 'a';  // the marks are still equal
  CHECK_FALSE(two.modules.agree(maps, words, {&first, 1}));
  const MappingsOver over = two.modules.over(maps, words, {&first, 1});
  REQUIRE(over.size() == 1);
  CHECK(over[0]->file->is_unchanged());
}

TEST_CASE("a file that was once seen mapped is known after it is deleted") {
  Two two;
  CHECK(two.over(1, two.word).empty());
  std::filesystem::remove(two.files.path("a"));
  two.files.map("b");
  const MappingsOver over = two.over(1, two.word);
  REQUIRE(over.size() == 1);
  CHECK(static_cast<bool>(over[0]->file->fd));
}

TEST_CASE("another part of the right file is not the right mapping") {
  Two two;
  const std::string path = two.files.path("a");
  Module shifted = two.files.module(3, path, 'a');
  shifted.offset = 0;
  two.modules.add(shifted);
  CHECK(two.over(3, two.word).size() == 1);
}

TEST_CASE("a module without marks has no file, and a module id is defined once") {
  Two two;
  const std::string path = two.files.path("a");
  Module bare = two.files.module(3, path, 'a');
  bare.marks = {};
  two.modules.add(bare);
  const MappingsOver over = two.over(3, two.word);
  REQUIRE(over.size() == 1);
  CHECK_FALSE(static_cast<bool>(over[0]->file->fd));
  two.modules.add(two.files.module(1, two.files.path("b"), 'b'));
  CHECK(two.over(1, two.word).empty());
}

TEST_CASE("a stack is emitted with the mappings at its addresses") {
  gpuprof::test::Rig rig({.stacks_from_sources = true});
  Files files;
  files.map("a");
  rig.correlator.on_module(1, files.module(1, files.path("a"), 'a'));
  rig.correlator.on_module(1, files.module(2, files.path("b"), 'b'));
  const uint64_t words[] = {files.start() + 10, files.start() + 20};
  for (const uint32_t module : {1u, 2u}) {
    rig.correlator.on_stack(1u, {.id = module, .words = words, .flags = 0, .modules = {&module, 1}});
    rig.correlator.on_launch(1, {.correlation = module, .stack = module, .time_ns = 5000, .tid = 5, .thread = "t"});
    rig.correlator.on_gpu_op(gpuprof::test::Rig::kernel(module));
  }
  const auto batch = rig.take();
  REQUIRE(batch.stacks.size() == 2);
  CHECK(batch.stacks[0].over.empty());
  REQUIRE(batch.stacks[1].over.size() == 1);
  CHECK(batch.stacks[1].over[0]->file->path == files.path("b"));
}

TEST_CASE("a source's mapping change causes a new read, but at a limited rate") {
  gpuprof::test::Rig rig;
  rig.correlator.on_mappings(99);  // no source has this id
  Files files;
  bool too_soon = false;  // the second on_mappings() came within 100 ms; if not, the loop tries again
  for (int i = 0; i < 100 && !too_soon; ++i) {
    ::usleep(120'000);
    const uint64_t begin = gpuprof::monotonic_ns();
    rig.correlator.on_mappings(1);
    rig.correlator.take_process_events();
    files.map(i % 2 == 0 ? "a" : "b");
    rig.correlator.on_mappings(1);
    const bool quiet = rig.correlator.take_process_events().empty();
    too_soon = gpuprof::monotonic_ns() - begin < 100'000'000;
    CHECK((quiet || !too_soon));
  }
  REQUIRE(too_soon);
  ::usleep(120'000);
  rig.correlator.on_mappings(1);
  const auto events = rig.correlator.take_process_events();
  REQUIRE(events.size() == 1);
  CHECK(events[0].maps->find(files.start()) != nullptr);
}
