#include "symbolize/gpu/zebin.h"

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

Bytes zebin_of(const std::string& name) {
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

// Converts an object file for the CPU into one like those of Intel's compiler: changes machine and relocation types.
Bytes zebin(const std::string& name) {
  Bytes bytes = zebin_of(name);
  auto header = get<Elf64_Ehdr>(bytes, 0);
  header.e_machine = 205;
  put(bytes, 0, header);
  const std::map<uint64_t, uint64_t> types = {
      {R_X86_64_64, 1}, {R_X86_64_32, 2}, {R_AARCH64_ABS64, 1}, {R_AARCH64_ABS32, 2}};
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

TEST_CASE("kernels of a zebin have source lines") {
  for (const char* name : {"kernels_dwarf4.o", "kernels_dwarf5.o"}) {
    INFO(name);
    ReadingBudget budget({}, {});
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
      CHECK((first.front().line == begin ||
             first.front().line == begin + 1));  // the compiler may assign the first instruction to the next line
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

TEST_CASE("functions inlined into a kernel have their own frames") {
  ReadingBudget budget({}, {});
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

TEST_CASE("a zebin without DWARF has kernels without lines") {
  ReadingBudget budget({}, {});
  const auto code = Zebin::parse(zebin("kernels_bare.o"), budget);
  REQUIRE(code != nullptr);
  CHECK(code->kernels().size() == 2);
  CHECK(code->lines("scale", 0).empty());
}

TEST_CASE("files that are not zebins are rejected") {
  ReadingBudget budget({}, {});
  CHECK(Zebin::parse(zebin_of("kernels_dwarf4.o"), budget) == nullptr);  // not converted: the ELF file is for the CPU
  CHECK(Zebin::parse({}, budget) == nullptr);
  CHECK(Zebin::parse(Bytes(1000), budget) == nullptr);
}

TEST_CASE("a zebin that exceeds the memory limit is rejected") {
  ReadingBudget budget({}, [] { return uint64_t{1000}; });
  CHECK(Zebin::parse(zebin("kernels_dwarf4.o"), budget) == nullptr);
}

void exercise_zebin(const Bytes& bytes) {
  ReadingBudget budget({}, {});
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

TEST_CASE("truncated or damaged zebins are read without a crash") {
  const Bytes whole = zebin("kernels_dwarf4.o");
  std::mt19937 random(11);
  for (size_t size = 0; size < whole.size(); size += 29) {
    exercise_zebin({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
  }
  const auto header = get<Elf64_Ehdr>(whole, 0);
  for (int round = 0; round < 1500; ++round) {
    Bytes bad = whole;
    for (int change = 0; change < 1 + round % 10; ++change) {
      // Half of the changes hit the section headers at the end of the file, the others any byte.
      const size_t from = change % 2 == 0 ? 0 : header.e_shoff;
      bad[from + random() % (bad.size() - from)] = static_cast<std::byte>(random());
    }
    exercise_zebin(bad);
  }
}

struct Note {
  std::string owner;
  uint32_t type;
  std::vector<uint32_t> words;
};

Bytes with_notes(const std::vector<Note>& notes) {
  const std::string names("\0.text.k\0.note.intelgt.compat\0.shstrtab\0", 41);
  std::string text;
  const auto append = [&text](const void* bytes, size_t size) {
    text.append(static_cast<const char*>(bytes), size);
    text.append((4 - text.size() % 4) % 4, '\0');
  };
  for (const Note& note : notes) {
    const Elf64_Nhdr head{static_cast<uint32_t>(note.owner.size() + 1),
                          static_cast<uint32_t>(note.words.size() * sizeof(uint32_t)), note.type};
    append(&head, sizeof head);
    append(note.owner.c_str(), note.owner.size() + 1);
    append(note.words.data(), note.words.size() * sizeof(uint32_t));
  }
  const std::string code(0x40, 'c');
  const uint64_t code_at = sizeof(Elf64_Ehdr);
  const uint64_t notes_at = code_at + code.size();
  const uint64_t names_at = notes_at + text.size();
  const uint64_t sections_at = (names_at + names.size() + 7) / 8 * 8;
  Bytes bytes(sections_at + 4 * sizeof(Elf64_Shdr));
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_REL;
  header.e_machine = 205;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shoff = sections_at;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  header.e_shstrndx = 3;
  put(bytes, 0, header);
  std::memcpy(bytes.data() + code_at, code.data(), code.size());
  std::memcpy(bytes.data() + notes_at, text.data(), text.size());
  std::memcpy(bytes.data() + names_at, names.data(), names.size());
  const auto section = [](uint32_t name, uint32_t type, uint64_t offset, uint64_t size) {
    Elf64_Shdr made{};
    made.sh_name = name;
    made.sh_type = type;
    made.sh_offset = offset;
    made.sh_size = size;
    return made;
  };
  put(bytes, sections_at + sizeof(Elf64_Shdr), section(1, SHT_PROGBITS, code_at, code.size()));
  put(bytes, sections_at + 2 * sizeof(Elf64_Shdr), section(9, SHT_NOTE, notes_at, text.size()));
  put(bytes, sections_at + 3 * sizeof(Elf64_Shdr), section(30, SHT_STRTAB, names_at, names.size()));
  return bytes;
}

GpuPlatform platform_with(const std::vector<Note>& notes) {
  ReadingBudget budget({}, {});
  const auto code = Zebin::parse(with_notes(notes), budget);
  REQUIRE(code != nullptr);
  REQUIRE(code->find("k") != nullptr);
  CHECK(code->find("k")->bytes == 0x40);
  CHECK(code->find("k")->offset == sizeof(Elf64_Ehdr));
  CHECK(code->find("other") == nullptr);
  CHECK_FALSE(code->has_lines());
  return code->platform();
}

TEST_CASE("the notes of a zebin name its platform") {
  const std::string intel = "IntelGT";
  const auto config = [](uint32_t architecture, uint32_t release) { return architecture << 22U | release << 14U | 7U; };
  CHECK(platform_with({}) == GpuPlatform::unknown);
  // Debian's compiler writes these notes for a Ponte Vecchio: they name a product, but no graphics core.
  CHECK(platform_with({{intel, 1, {1271}}, {intel, 2, {0}}, {intel, 3, {0x270700}}, {intel, 5, {0x30322e31, 0}}}) ==
        GpuPlatform::xe_hpc);
  CHECK(platform_with({{intel, 2, {0xc07}}}) == GpuPlatform::xe_hpg);
  CHECK(platform_with({{intel, 2, {0xc09}}}) == GpuPlatform::xe2);
  CHECK(platform_with({{intel, 6, {config(12, 0)}}}) == GpuPlatform::xe);
  CHECK(platform_with({{intel, 6, {config(12, 55)}}}) == GpuPlatform::xe_hpg);
  CHECK(platform_with({{intel, 6, {config(12, 60)}}}) == GpuPlatform::xe_hpc);
  CHECK(platform_with({{intel, 6, {config(12, 71)}}}) == GpuPlatform::xe_hpg);
  CHECK(platform_with({{intel, 6, {config(20, 4)}}}) == GpuPlatform::xe2);
  CHECK(platform_with({{intel, 6, {config(30, 0)}}}) == GpuPlatform::xe3);
  CHECK(platform_with({{intel, 6, {config(99, 0)}}}) == GpuPlatform::unknown);
  CHECK(platform_with({{"GNU", 6, {config(20, 4)}}}) == GpuPlatform::unknown);
  CHECK(platform_with({{"IntelGX", 6, {config(20, 4)}}}) == GpuPlatform::unknown);
  CHECK(platform_with({{intel, 6, {config(20, 4), 1}}}) == GpuPlatform::unknown);
  CHECK(platform_with({{"GNU", 3, {1, 2, 3}}, {intel, 6, {config(20, 4)}}}) == GpuPlatform::xe2);
}

}  // namespace
}  // namespace gpuprof::symbolize::test
