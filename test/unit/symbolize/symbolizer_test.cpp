#include "symbolize/symbolizer.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/files/safe_open.h"
#include "catch.h"
#include "child.h"
#include "name_address.h"
#include "symbolize/elf/elf_image.h"
#include "symbolize/elf/elf_module.h"

namespace gpuprof::symbolize::test {
namespace {

namespace fs = std::filesystem;
using profile::FrameKind;

std::vector<SymbolizedFrame> look_up(const ProcessMaps& maps, uint64_t address, SymbolizerOptions options = {}) {
  Symbolizer symbolizer(std::move(options));
  std::vector<SymbolizedFrame> frames;
  name_address(symbolizer, maps, address, true, frames);
  return frames;
}

std::string base(const std::string& path) {
  return fs::path(path).filename().string();
}

// Checks the frames at the innermost inlined call. They are the same for every build of the fixture with DWARF.
void check_chain(const std::vector<SymbolizedFrame>& frames, const std::string& module) {
  REQUIRE(frames.size() == 3);
  CHECK(frames[0].kind == FrameKind::native);
  CHECK(frames[0].name == "fixture::Runner::outer(void (*)())");
  CHECK(frames[0].line == marked_line("chain.cpp", "outer"));
  CHECK(frames[1].kind == FrameKind::inlined);
  CHECK(frames[1].name.find("fixture::(anonymous namespace)::middle") == 0);
  CHECK(frames[1].line == marked_line("chain.cpp", "middle"));
  CHECK(frames[2].kind == FrameKind::inlined);
  CHECK(frames[2].name.find("fixture::innermost<3>(") != std::string::npos);
  CHECK(frames[2].line == marked_line("chain.cpp", "innermost"));
  for (const SymbolizedFrame& frame : frames) {
    CHECK(base(frame.file) == "chain.cpp");
    CHECK(base(frame.module) == module);
    CHECK(frame.address == frames[0].address);
  }
}

void check_local(const std::vector<SymbolizedFrame>& frames) {
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].kind == FrameKind::native);
  CHECK(frames[0].name.find("fixture::(anonymous namespace)::local(") == 0);
  CHECK(frames[0].line == marked_line("chain.cpp", "local"));
}

TEST_CASE("an inlined chain has lines in every file layout") {
  for (const char* name : {"chain_full", "chain_noseparate", "chain_lld", "chain_gold", "chain_clang"}) {
    const std::string library = fixture(std::string(name) + ".so");
    if (!fs::exists(library)) {
      WARN("skipped, its tool is not installed: " << name);
      continue;
    }
    INFO(name);
    const Child child("pie", library);
    REQUIRE(child.outer() != 0);
    ProcessMaps maps(child.pid(), make_file_cache());
    REQUIRE(maps.refresh());
    check_chain(look_up(maps, child.outer()), std::string(name) + ".so");
    check_local(look_up(maps, child.local()));
  }
}

TEST_CASE("a library that was overwritten in place has no names until it is opened again") {
  const TemporaryDirectory directory;
  const std::string library = directory.path() + "/library.so";
  fs::copy_file(fixture("chain_full.so"), library);
  const Child child("pie", library);
  ProcessMaps maps(child.pid(), make_file_cache());
  REQUIRE(maps.refresh());
  Symbolizer symbolizer;
  const auto names = [&](const Mapping* mapping) {
    std::vector<SymbolizedFrame> frames;
    symbolizer.user_in(maps, mapping, child.local() - 1, frames);
    return frames;
  };
  Mapping mapping = *maps.find(child.local() - 1);
  check_local(names(&mapping));
  std::ofstream(library, std::ios::app) << "end";
  CHECK(names(&mapping)[0].kind == FrameKind::unknown);
  CHECK(names(&mapping)[0].name.find("[library.so+0x") == 0);
  mapping.file = maps.open_file(library);
  check_local(names(&mapping));
}

TEST_CASE("position-independent and fixed executables are symbolized") {
  for (const char* kind : {"pie", "nopie"}) {
    INFO(kind);
    const Child child(kind, fixture("chain_full.so"));
    ProcessMaps maps(child.pid(), make_file_cache());
    REQUIRE(maps.refresh());
    const auto frames = look_up(maps, child.own());
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].name == "child_own_function");
    CHECK(base(frames[0].file) == "child.cpp");
    CHECK(frames[0].line == marked_line("child.cpp", "own"));
    CHECK(base(frames[0].module) == std::string("symbolize_child_") + kind);
    CHECK(frames[0].build_id.size() == 40);
  }
}

TEST_CASE("a stripped file has its exported functions, and addresses for other code") {
  const Child child("pie", fixture("chain_stripped.so"));
  ProcessMaps maps(child.pid(), make_file_cache());
  REQUIRE(maps.refresh());
  const auto outer = look_up(maps, child.outer());
  REQUIRE(outer.size() == 1);
  CHECK(outer[0].name == "fixture::Runner::outer(void (*)())");
  CHECK(outer[0].file.empty());
  const auto local = look_up(maps, child.local());
  REQUIRE(local.size() == 1);
  CHECK(local[0].kind == FrameKind::unknown);
  CHECK(local[0].name.find("[chain_stripped.so+0x") == 0);
  CHECK(base(local[0].module) == "chain_stripped.so");
  // The name is that of the function's first byte, from the unwind tables.
  CHECK(local[0].name != address_name("chain_stripped.so", local[0].address));
  const auto begin = std::stoull(local[0].name.substr(local[0].name.find("+0x") + 1), nullptr, 16);
  const uint64_t first = child.local() - (local[0].address - begin);
  for (uint64_t address = first; address <= child.local(); ++address) {
    CHECK(look_up(maps, address).front().name == local[0].name);
  }
  CHECK(look_up(maps, first - 1).front().name != local[0].name);
}

TEST_CASE("a debug file is found by .gnu_debuglink if its CRC matches") {
  TemporaryDirectory directory;
  const std::string library = directory.path() + "/chain_link.so";
  fs::copy_file(fixture("chain_link.so"), library);
  const Child child("pie", library);
  ProcessMaps maps(child.pid(), make_file_cache());
  REQUIRE(maps.refresh());
  CHECK(look_up(maps, child.outer()).size() == 1);

  fs::create_directory(directory.path() + "/.debug");
  const std::string debug = directory.path() + "/.debug/chain_link.debug";
  fs::copy_file(fixture("chain_link.debug"), debug);
  check_chain(look_up(maps, child.outer()), "chain_link.so");
  check_local(look_up(maps, child.local()));

  std::ofstream(debug, std::ios::app) << "another file";
  CHECK(look_up(maps, child.outer()).size() == 1);
}

TEST_CASE("an empty .gnu_debuglink names no debug file") {
  const Child child("pie", fixture("chain_empty_link.so"));
  ProcessMaps maps(child.pid(), make_file_cache());
  REQUIRE(maps.refresh());
  CHECK(look_up(maps, child.outer()).size() == 1);
}

TEST_CASE("a debug file is found by build id") {
  TemporaryDirectory directory;
  const Child child("pie", fixture("chain_id.so"));
  ProcessMaps maps(child.pid(), make_file_cache());
  REQUIRE(maps.refresh());
  SymbolizerOptions options;
  options.debug_directories = {directory.path()};
  const auto without = look_up(maps, child.outer(), options);
  REQUIRE(without.size() == 1);
  const std::string id = without[0].build_id;
  REQUIRE(id.size() == 40);
  const std::string place = directory.path() + "/.build-id/" + id.substr(0, 2);
  fs::create_directories(place);

  fs::copy_file(fixture("chain_link.debug"), place + '/' + id.substr(2) + ".debug");
  CHECK(look_up(maps, child.outer(), options).size() == 1);  // this debug file belongs to another library

  fs::copy_file(fixture("chain_id.debug"), place + '/' + id.substr(2) + ".debug", fs::copy_options::overwrite_existing);
  check_chain(look_up(maps, child.outer(), options), "chain_id.so");
}

TEST_CASE("mini debug info names local functions") {
  if (!fs::exists(fixture("chain_mini.so"))) {
    WARN("skipped: xz is not installed");
    return;
  }
  const Child child("pie", fixture("chain_mini.so"));
  ProcessMaps maps(child.pid(), make_file_cache());
  REQUIRE(maps.refresh());
  const auto local = look_up(maps, child.local());
  REQUIRE(local.size() == 1);
  CHECK(local[0].kind == FrameKind::native);
  CHECK(local[0].name.find("fixture::(anonymous namespace)::local(") == 0);
}

TEST_CASE("debuginfod is queried only if the user names a server") {
  void* library = ::dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    WARN("skipped: libdebuginfod is not installed");
    return;
  }
  TemporaryDirectory directory;
  const Child child("pie", fixture("chain_id.so"));
  ProcessMaps maps(child.pid(), make_file_cache());
  REQUIRE(maps.refresh());
  ::unsetenv("DEBUGINFOD_URLS");
  ::setenv("DEBUGINFOD_CACHE_PATH", (directory.path() + "/cache").c_str(), 1);
  const auto without = look_up(maps, child.outer());
  REQUIRE(without.size() == 1);
  CHECK_FALSE(fs::exists(directory.path() + "/cache"));

  const std::string place = directory.path() + "/buildid/" + without[0].build_id;
  fs::create_directories(place);
  fs::copy_file(fixture("chain_id.debug"), place + "/debuginfo");
  ::setenv("DEBUGINFOD_URLS", ("file://" + directory.path()).c_str(), 1);
  check_chain(look_up(maps, child.outer()), "chain_id.so");
  SymbolizerOptions off;
  off.debuginfod = false;
  CHECK(look_up(maps, child.outer(), off).size() == 1);
  ::unsetenv("DEBUGINFOD_URLS");
  ::unsetenv("DEBUGINFOD_CACHE_PATH");
}

TEST_CASE("a mapped file that was deleted or replaced never gives wrong names") {
  TemporaryDirectory directory;
  const std::string library = directory.path() + "/lib.so";
  fs::copy_file(fixture("chain_full.so"), library);
  const Child child("pie", library);

  SECTION("changed after the mappings were read") {
    ProcessMaps maps(child.pid(), make_file_cache());
    REQUIRE(maps.refresh());
    fs::remove(library);
    REQUIRE(maps.refresh());
    check_chain(look_up(maps, child.outer()), "lib.so");
  }
  SECTION("changed before the mappings were read") {
    fs::remove(library);
    fs::copy_file(fixture("chain_stripped.so"), library);
    ProcessMaps maps(child.pid(), make_file_cache());
    REQUIRE(maps.refresh());
    const Mapping* mapping = maps.find(child.outer());
    REQUIRE(mapping != nullptr);
    CHECK(mapping->file->deleted);
    CHECK(mapping->name == library);
    const auto frames = look_up(maps, child.outer());
    if (::geteuid() == 0) {
      check_chain(frames, "lib.so");
    } else {
      REQUIRE(frames.size() == 1);
      CHECK(frames[0].name.find("[lib.so+0x") == 0);
    }
  }
}

TEST_CASE("an ended process keeps its known names, and a reused pid is not mistaken for it") {
  Child child("pie", fixture("chain_full.so"));
  ProcessMaps maps(child.pid(), make_file_cache());
  REQUIRE(maps.refresh());
  const uint64_t address = child.outer();
  child.stop();
  CHECK_FALSE(maps.refresh());
  check_chain(look_up(maps, address), "chain_full.so");

  ProcessMaps never(0x7ffffffe, make_file_cache());
  CHECK_FALSE(never.refresh());
  const auto frames = look_up(never, address);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].name == "[unknown]");
  CHECK(frames[0].kind == FrameKind::unknown);
  CHECK(frames[0].address == address - 1);
}

TEST_CASE("functions of the vdso have names") {
  void* vdso = ::dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* function = vdso != nullptr ? ::dlsym(vdso, "__vdso_clock_gettime") : nullptr;
  if (function == nullptr) {
    WARN("skipped: this kernel offers no vdso");
    return;
  }
  ProcessMaps maps(static_cast<uint32_t>(::getpid()), make_file_cache());
  REQUIRE(maps.refresh());
  REQUIRE_FALSE(maps.vdso().empty());
  Symbolizer symbolizer;
  std::vector<SymbolizedFrame> frames;
  name_address(symbolizer, maps, reinterpret_cast<uint64_t>(function) + 1, false, frames);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].name == "__vdso_clock_gettime");
  CHECK(frames[0].module == "[vdso]");
  CHECK(frames[0].kind == FrameKind::native);
}

TEST_CASE("compiled code in anonymous memory is named by perf-PID.map as it grows") {
  const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  fs::remove(path);  // an earlier process with this pid may have left the file
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  const auto start = reinterpret_cast<uint64_t>(page);
  ProcessMaps maps(static_cast<uint32_t>(::getpid()), make_file_cache());
  REQUIRE(maps.refresh());
  REQUIRE(maps.perf_map_path() == path);
  Symbolizer symbolizer;
  const auto name_at = [&](uint64_t address) {
    std::vector<SymbolizedFrame> frames;
    name_address(symbolizer, maps, address, false, frames);
    REQUIRE(frames.size() == 1);
    return frames[0].name;
  };
  const auto append = [&](uint64_t at, const std::string& rest) {
    std::ofstream(path, std::ios::app) << std::hex << at << rest;
  };
  CHECK(name_at(start) == "[unknown]");
  append(start, " 20 py::train:/home/user/my train.py\nnot a line\n");
  CHECK(name_at(start + 0x1f) == "py::train:/home/user/my train.py");
  CHECK(name_at(start + 0x20) == "[unknown]");
  append(start + 0x20, " 10 half");
  CHECK(name_at(start + 0x20) == "[unknown]");
  std::ofstream(path, std::ios::app) << " and half\n";
  CHECK(name_at(start + 0x20) == "half and half");
  append(start + 0x10, " 20 newer\n");
  CHECK(name_at(start + 0x20) == "newer");
  CHECK(name_at(start) == "[unknown]");
  std::ofstream(path, std::ios::trunc) << std::hex << start << " 8 fresh\n";
  CHECK(name_at(start) == "fresh");
  CHECK(name_at(start + 0x18) == "[unknown]");
  fs::remove(path);
  ::munmap(page, 4096);
}

TEST_CASE("a stub of the procedure linkage table has the name of its function") {
  const Child child("nopie", fixture("chain_full.so"));
  ProcessMaps maps(child.pid(), make_file_cache());
  REQUIRE(maps.refresh());
  const Mapping* mapping = maps.find(child.own());
  REQUIRE(mapping != nullptr);
  const std::optional<ElfImage> image = ElfImage::parse(ByteSource::file(mapping->file->fd.get()));
  REQUIRE(image.has_value());
  const ElfSection* plt = image->section(".plt.sec") != nullptr ? image->section(".plt.sec") : image->section(".plt");
  REQUIRE(plt != nullptr);
  Symbolizer symbolizer;
  std::vector<SymbolizedFrame> frames;
  for (uint64_t at = 0; at < plt->header.sh_size; at += 16) {
    name_address(symbolizer, maps, plt->header.sh_addr + at, false, frames);
  }
  CHECK(std::any_of(frames.begin(), frames.end(), [](const auto& frame) { return frame.name == "dlopen@plt"; }));
}

}  // namespace
}  // namespace gpuprof::symbolize::test
