#include "symbolize/elf/elf_functions.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/unique_fd.h"
#include "catch.h"
#include "symbolize/elf/elf_image.h"

using gpuprof::UniqueFd;
using gpuprof::symbolize::ByteSource;
using gpuprof::symbolize::find_functions;

extern "C" {
// The test searches for this function in its own executable.
[[gnu::used, gnu::noinline]] int gpuprof_test_elf_function() {
  static volatile int result = 4711;
  return result;
}
}

namespace {

std::vector<uint8_t> own_file() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Builds an ELF file of `symbols` functions with one common name, at the end of a string table without a final NUL.
std::vector<uint8_t> file_of_one_name(size_t symbols, const std::string& name, size_t name_bytes) {
  constexpr size_t kSymbolsAt = 4096;
  const size_t names_at = kSymbolsAt + symbols * sizeof(Elf64_Sym);
  const size_t sections_at = (names_at + name_bytes + 7) / 8 * 8;
  std::vector<uint8_t> file(sections_at + 3 * sizeof(Elf64_Shdr));
  const auto put = [&file](size_t at, const auto& value) { std::memcpy(file.data() + at, &value, sizeof value); };
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_shoff = sections_at;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  put(0, header);
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_X;
  segment.p_filesz = symbols;
  put(sizeof header, segment);
  for (size_t i = 0; i < symbols; ++i) {
    Elf64_Sym symbol{};
    symbol.st_name = 1;
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = 1;
    symbol.st_value = i;
    put(kSymbolsAt + i * sizeof symbol, symbol);
  }
  std::memset(file.data() + names_at + 1, 'A', name_bytes - 1);
  std::memcpy(file.data() + names_at + 1, name.c_str(), name.empty() ? 0 : name.size() + 1);
  Elf64_Shdr table{};
  table.sh_type = SHT_DYNSYM;
  table.sh_offset = kSymbolsAt;
  table.sh_size = symbols * sizeof(Elf64_Sym);
  table.sh_link = 2;
  table.sh_entsize = sizeof(Elf64_Sym);
  put(sections_at + sizeof table, table);
  Elf64_Shdr names{};
  names.sh_type = SHT_STRTAB;
  names.sh_offset = names_at;
  names.sh_size = name_bytes;
  put(sections_at + 2 * sizeof names, names);
  return file;
}

}  // namespace

// Reading each name to its end would read 3 TB.
TEST_CASE("names without an end are not read to the end of their string table") {
  const std::vector<uint8_t> file = file_of_one_name(100'000, "", 32U << 20);
  const auto begin = std::chrono::steady_clock::now();
  const auto found = find_functions(ByteSource::memory(file), {"clEnqueueNDRangeKernel"});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
  REQUIRE(found);
  CHECK(found->empty());
}

TEST_CASE("a search gives up on a file with thousands of functions of one name") {
  const auto few = find_functions(ByteSource::memory(file_of_one_name(2, "launch", 64)), {"launch"});
  REQUIRE(few);
  CHECK(few->size() == 2);
  CHECK_FALSE(find_functions(ByteSource::memory(file_of_one_name(100'000, "launch", 64)), {"launch"}));
}

TEST_CASE("a search ends when its callback asks to stop") {
  const std::vector<uint8_t> file = file_of_one_name(100'000, "", 64);
  int asked = 0;
  CHECK_FALSE(find_functions(ByteSource::memory(file), {"launch"}, [&asked] { return ++asked == 3; }));
  CHECK(asked == 3);
}

TEST_CASE("a function is found at the file offset of its code") {
  const UniqueFd fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto found = find_functions(fd.get(), {"no_such_function", "gpuprof_test_elf_function"});
  REQUIRE(found);
  REQUIRE(found->size() == 1);
  CHECK(found->front().wanted == 1);
  uint8_t in_file[8] = {};
  REQUIRE(::pread(fd.get(), in_file, sizeof in_file, static_cast<off_t>(found->front().file_offset)) == 8);
  CHECK(std::memcmp(in_file, reinterpret_cast<const void*>(&gpuprof_test_elf_function), sizeof in_file) == 0);
}

TEST_CASE("a function whose code is beyond the end of the file is ignored") {
  std::vector<uint8_t> bytes = own_file();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (const uint64_t beyond : {static_cast<uint64_t>(bytes.size()), UINT64_MAX - 1}) {
    for (size_t i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      uint8_t* const at = bytes.data() + header.e_phoff + i * sizeof segment;
      std::memcpy(&segment, at, sizeof segment);
      if (segment.p_type == PT_LOAD) {
        segment.p_offset = beyond;
        std::memcpy(at, &segment, sizeof segment);
      }
    }
    const auto found = find_functions(ByteSource::memory(bytes), {"gpuprof_test_elf_function"});
    REQUIRE(found);
    CHECK(found->empty());
  }
}

TEST_CASE("a file that is not ELF has no functions") {
  const UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK_FALSE(find_functions(fd.get(), {"main"}));
  CHECK_FALSE(find_functions(-1, {"main"}));
}

TEST_CASE("a file truncated at any size is searched without a fault") {
  const std::vector<uint8_t> whole = own_file();
  for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 400) {
    (void)find_functions(ByteSource::memory(std::span(whole).first(size)), {"gpuprof_test_elf_function"});
  }
}

// The search does not map the file: a mapping would raise SIGBUS when the owner truncates the file.
TEST_CASE("truncating a file during a search is harmless") {
  const auto path = std::filesystem::temp_directory_path() / ("gpuprof-cut-" + std::to_string(::getpid()));
  const std::vector<uint8_t> whole = own_file();
  const auto write_whole = [&] {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(whole.data()), static_cast<std::streamsize>(whole.size()));
  };
  write_whole();
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::atomic<bool> stop{false};
  std::thread owner([&] {
    while (!stop) {
      (void)!::truncate(path.c_str(), 4096);
      write_whole();
    }
  });
  for (int i = 0; i < 200; ++i) {
    (void)find_functions(fd.get(), {"gpuprof_test_elf_function"});
  }
  stop = true;
  owner.join();
  const auto found = find_functions(fd.get(), {"gpuprof_test_elf_function"});
  CHECK((found && found->size() == 1));
  std::filesystem::remove(path);
}
