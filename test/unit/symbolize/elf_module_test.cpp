#include "symbolize/elf/elf_module.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "catch.h"
#include "child.h"

namespace gpuprof::symbolize::test {
namespace {

std::vector<uint8_t> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::shared_ptr<MappedFile> file_with(const std::vector<uint8_t>& bytes) {
  auto file = std::make_shared<MappedFile>();
  file->path = "/nowhere/garbage.so";
  file->fd.reset(::memfd_create("garbage", MFD_CLOEXEC));
  REQUIRE(::write(file->fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return file;
}

// Looks up addresses all over the file. Any answer is fine, as long as the calls return.
void exercise(const std::vector<uint8_t>& bytes) {
  ReadingBudget budget({}, {});
  const auto module = ElfModule::of_file(file_with(bytes), true, {}, budget);
  if (!module) {
    return;
  }
  for (uint64_t offset = 0; offset < 0x2000; offset += 0x35) {
    if (const auto vaddr = module->vaddr_of(offset, offset & ~uint64_t{4095})) {
      CHECK_FALSE(module->frames(*vaddr, nullptr).empty());
    }
  }
  CHECK_FALSE(module->frames(~uint64_t{0}, nullptr).empty());
}

TEST_CASE("truncated and damaged files are read without a crash") {
  std::vector<uint8_t> whole = bytes_of(fixture("chain_full.so"));
  REQUIRE(whole.size() > 1000);
  std::mt19937 random(7);
  SECTION("truncated at any size") {
    for (size_t size = 0; size < whole.size(); size += 97) {
      exercise({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
    }
  }
  SECTION("any bytes changed") {
    for (int round = 0; round < 400; ++round) {
      std::vector<uint8_t> bad = whole;
      for (int change = 0; change < 1 + round % 40; ++change) {
        bad[random() % bad.size()] = static_cast<uint8_t>(random());
      }
      exercise(bad);
    }
  }
  SECTION("headers and section headers changed") {
    Elf64_Ehdr header{};
    std::memcpy(&header, whole.data(), sizeof header);
    for (int round = 0; round < 400; ++round) {
      std::vector<uint8_t> bad = whole;
      for (int change = 0; change < 4; ++change) {
        const bool in_sections = random() % 2 == 0 && header.e_shoff < bad.size();
        const size_t start = in_sections ? header.e_shoff : 16;
        const size_t length = in_sections ? bad.size() - start : 200;
        bad[start + random() % length] = static_cast<uint8_t>(random() % 3 == 0 ? 0xff : random());
      }
      exercise(bad);
    }
  }
  SECTION("only noise after the ELF magic") {
    for (int round = 0; round < 50; ++round) {
      std::vector<uint8_t> bad(4096);
      for (uint8_t& byte : bad) {
        byte = static_cast<uint8_t>(random());
      }
      std::memcpy(bad.data(), whole.data(), 16);
      exercise(bad);
    }
  }
}

TEST_CASE("a file that shrinks while it is in use loses its names") {
  ReadingBudget budget({}, {});
  const auto file = file_with(bytes_of(fixture("chain_full.so")));
  const auto module = ElfModule::of_file(file, true, {}, budget);
  REQUIRE(module);
  const auto whole = ElfModule::of_file(file_with(bytes_of(fixture("chain_full.so"))), true, {}, budget);
  REQUIRE(whole);
  REQUIRE(::ftruncate(file->fd.get(), 100) == 0);
  int named = 0;
  for (uint64_t vaddr = 0; vaddr < 0x2000; vaddr += 7) {
    const auto frames = module->frames(vaddr, nullptr);
    REQUIRE(frames.size() == 1);
    CHECK(frames[0].name.starts_with('['));  // the function names were in the truncated part
    named += whole->frames(vaddr, nullptr).back().name.starts_with('[') ? 0 : 1;
  }
  CHECK(named > 0);
}

TEST_CASE("a huge sparse file costs neither memory nor time") {
  ReadingBudget budget({}, {});
  std::vector<uint8_t> bytes = bytes_of(fixture("chain_full.so"));
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    uint8_t* place = bytes.data() + header.e_shoff + static_cast<size_t>(i) * sizeof section;
    std::memcpy(&section, place, sizeof section);
    if (section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_ALLOC) == 0) {
      section.sh_size = uint64_t{1} << 38;  // makes the debug sections huge
      std::memcpy(place, &section, sizeof section);
    }
  }
  const auto file = file_with(bytes);
  REQUIRE(::ftruncate(file->fd.get(), off_t{1} << 39) == 0);
  const auto module = ElfModule::of_file(file, true, {}, budget);
  REQUIRE(module);
  CHECK_FALSE(module->frames(0x1100, nullptr).empty());
}

TEST_CASE("an address without a symbol is named by module and offset") {
  CHECK(address_name("/usr/lib/libfoo.so.1", 0x12ab) == "[libfoo.so.1+0x12ab]");
  CHECK(address_name("[vdso]", 0) == "[vdso+0x0]");
  CHECK(address_name("[kernel]", ~uint64_t{0}) == "[kernel+0xffffffffffffffff]");
}

}  // namespace
}  // namespace gpuprof::symbolize::test
