#include "symbolize/zebin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>

#include "catch.h"

namespace gpuprof::symbolize::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const std::string& name) {
  std::ifstream file(std::string(FIXTURE_DIR) + "/" + name, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  REQUIRE(chars.size() > sizeof(Elf64_Ehdr));
  Bytes bytes(chars.size());
  std::memcpy(bytes.data(), chars.data(), chars.size());
  return bytes;
}

template <typename T>
T get(const Bytes& bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <typename T>
void put(Bytes& bytes, uint64_t offset, const T& value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// Makes an object file of this processor what Intel's compiler makes: its machine, and its relocations' types.
Bytes zebin(const std::string& name) {
  Bytes bytes = bytes_of(name);
  auto header = get<Elf64_Ehdr>(bytes, 0);
  header.e_machine = 205;
  put(bytes, 0, header);
  const std::map<uint64_t, uint64_t> types = {{R_X86_64_64, 1}, {R_X86_64_32, 2}};
  for (uint16_t i = 0; i < header.e_shnum; ++i) {
    const auto section = get<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr));
    for (uint64_t at = 0; section.sh_type == SHT_RELA && at < section.sh_size; at += sizeof(Elf64_Rela)) {
      auto entry = get<Elf64_Rela>(bytes, section.sh_offset + at);
      if (const auto type = types.find(ELF64_R_TYPE(entry.r_info)); type != types.end()) {
        entry.r_info = ELF64_R_INFO(ELF64_R_SYM(entry.r_info), type->second);
        put(bytes, section.sh_offset + at, entry);
      }
    }
  }
  return bytes;
}

TEST_CASE("kernels of a zebin, with their lines") {
  for (const char* name : {"kernels_dwarf4.o", "kernels_dwarf5.o"}) {
    INFO(name);
    ReadingBudget budget;
    const auto code = Zebin::parse(zebin(name), budget);
    REQUIRE(code != nullptr);
    REQUIRE(code->kernels().size() == 2);
    for (const auto& [kernel, begin, inside] : {std::tuple{"scale", 6U, 8U}, std::tuple{"add", 12U, 13U}}) {
      INFO(kernel);
      const auto known = std::find_if(code->kernels().begin(), code->kernels().end(),
                                      [name = std::string_view(kernel)](const auto& one) { return one.name == name; });
      REQUIRE(known != code->kernels().end());
      const std::vector<SourceFrame> first = code->lines(kernel, 0);
      REQUIRE(!first.empty());
      CHECK(first.front().name == kernel);
      CHECK(first.front().file.ends_with("fixtures/kernels.c"));
      CHECK((first.front().line == begin || first.front().line == begin + 1));  // as the compiler counts its beginning
      std::set<uint32_t> lines;
      for (uint64_t offset = 0; offset < known->bytes; ++offset) {
        for (const SourceFrame& frame : code->lines(kernel, offset)) {
          lines.insert(frame.line);
        }
      }
      CHECK(lines.contains(inside));
      CHECK(code->lines(kernel, known->bytes).empty());
    }
    CHECK(code->lines("other", 0).empty());
  }
}

TEST_CASE("what is inlined into a kernel has its own frame") {
  ReadingBudget budget;
  const auto code = Zebin::parse(zebin("kernels_dwarf4.o"), budget);
  REQUIRE(code != nullptr);
  bool seen = false;
  for (uint64_t offset = 0; offset < code->kernels().front().bytes; ++offset) {
    const std::vector<SourceFrame> frames = code->lines("scale", offset);
    seen = seen || (frames.size() == 2 && frames[0].name == "scale" && frames[0].line == 8 &&
                    frames[1].name == "twice" && frames[1].line == 3);
  }
  CHECK(seen);
}

TEST_CASE("a zebin without DWARF has kernels only") {
  ReadingBudget budget;
  const auto code = Zebin::parse(zebin("kernels_bare.o"), budget);
  REQUIRE(code != nullptr);
  CHECK(code->kernels().size() == 2);
  CHECK(code->lines("scale", 0).empty());
}

TEST_CASE("what is no zebin is refused") {
  ReadingBudget budget;
  CHECK(Zebin::parse(bytes_of("kernels_dwarf4.o"), budget) == nullptr);  // of another machine
  CHECK(Zebin::parse({}, budget) == nullptr);
  CHECK(Zebin::parse(Bytes(1000), budget) == nullptr);
}

TEST_CASE("a zebin beyond the memory that there is") {
  ReadingBudget budget({}, [] { return uint64_t{1000}; });
  CHECK(Zebin::parse(zebin("kernels_dwarf4.o"), budget) == nullptr);
}

void exercise(const Bytes& bytes) {
  ReadingBudget budget;
  const auto code = Zebin::parse(bytes, budget);
  if (code == nullptr) {
    return;
  }
  for (const Zebin::Kernel& kernel : code->kernels()) {
    for (uint64_t offset = 0; offset < std::min<uint64_t>(kernel.bytes, 64); offset += 3) {
      code->lines(kernel.name, offset);
    }
  }
}

TEST_CASE("zebins that are cut or garbled") {
  const Bytes whole = zebin("kernels_dwarf4.o");
  std::mt19937 random(11);
  for (size_t size = 0; size < whole.size(); size += 29) {
    exercise({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
  }
  const auto header = get<Elf64_Ehdr>(whole, 0);
  for (int round = 0; round < 1500; ++round) {
    Bytes bad = whole;
    for (int change = 0; change < 1 + round % 10; ++change) {
      // Every other time in the section headers and what lies before them: symbols and relocations.
      const size_t from = change % 2 == 0 ? 0 : header.e_shoff;
      bad[from + random() % (bad.size() - from)] = static_cast<std::byte>(random());
    }
    exercise(bad);
  }
}

}  // namespace
}  // namespace gpuprof::symbolize::test
