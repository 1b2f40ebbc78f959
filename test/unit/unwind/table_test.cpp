#include "unwind/table.h"

#include <elf.h>
#include <fcntl.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "base/unique_fd.h"
#include "catch.h"
#include "frame_bytes.h"
#include "own_modules.h"
#include "unwind/frame_sections.h"
#include "unwind/table_builder.h"

using namespace gpuprof;
using namespace gpuprof::unwind;

namespace {

const std::string kLibc = own_file("/libc.so");

FrameSections code_at(uint64_t begin, uint64_t end) {
  FrameSections sections;
  sections.code.push_back({begin, end});
  return sections;
}

std::unique_ptr<Table> table_of(const FrameSections& sections, const Rules& first, const Rules& second = {}) {
  TableBuilder builder(sections);
  for (const auto& [pc, rule] : first) {
    builder.on_rule(pc, rule);
  }
  builder.begin_fallback();
  for (const auto& [pc, rule] : second) {
    builder.on_rule(pc, rule);
  }
  return builder.finish();
}

Rules rows_of(const Table& table) {
  Rules rows;
  REQUIRE(table.pcs().size() == table.rule_indexes().size());
  for (size_t i = 0; i < table.pcs().size(); ++i) {
    rows.emplace_back(table.base() + table.pcs()[i], table.rules()[table.rule_indexes()[i]]);
  }
  return rows;
}

// Checks the layout that table.h guarantees and the BPF program relies on.
void check_layout(const Table& table) {
  REQUIRE(!table.pcs().empty());
  CHECK(table.pcs().front() == 0);
  CHECK(table.rules().front() == kNoRule);
  CHECK(table.rule_indexes().back() == 0);
  for (size_t i = 1; i < table.pcs().size(); ++i) {
    REQUIRE(table.pcs()[i - 1] < table.pcs()[i]);
    REQUIRE(table.rule_indexes()[i - 1] != table.rule_indexes()[i]);
  }
  REQUIRE(table.pages().size() == table.page_count() + 1);
  CHECK(table.page_count() == (table.pcs().back() >> Table::kPageShift) + 1);
  for (size_t row = 0; row + 1 < table.pcs().size(); ++row) {
    for (const uint32_t pc : {table.pcs()[row], table.pcs()[row + 1] - 1}) {
      const uint32_t page = pc >> Table::kPageShift;
      REQUIRE(table.pages()[page] <= row);
      REQUIRE(row <= table.pages()[page + 1]);
      REQUIRE(table.find(table.base() + pc) == table.rules()[table.rule_indexes()[row]]);
    }
  }
}

const uint64_t kA = sp_rule(8);
const uint64_t kB = sp_rule(16, -16);
const uint64_t kC = fp_rule_at(16, -16);

}  // namespace

TEST_CASE("the digest of sections covers all that a table is built from") {
  FrameSections sections = code_at(0x1000, 0x2000);
  sections.eh_frame = {.bytes = {1, 2}, .address = 7};
  sections.debug_frame = {.bytes = {3}, .address = 8};
  std::set<std::array<uint8_t, 32>> digests{sections.digest()};
  const auto is_new = [&](const FrameSections& other) { return digests.insert(other.digest()).second; };
  CHECK_FALSE(is_new(sections));
  FrameSections other = sections;
  other.code[0].end += 1;
  CHECK(is_new(other));
  other = sections;
  other.eh_frame.address += 1;
  CHECK(is_new(other));
  other = sections;
  other.debug_frame.address += 1;
  CHECK(is_new(other));
  other = sections;
  std::swap(other.eh_frame.bytes, other.debug_frame.bytes);
  CHECK(is_new(other));
  other = sections;
  other.debug_frame.bytes.insert(other.debug_frame.bytes.begin(), other.eh_frame.bytes.back());
  other.eh_frame.bytes.pop_back();
  CHECK(is_new(other));
}

TEST_CASE("functions in any order become sorted rows", "[unwind]") {
  const FrameSections sections = code_at(0x10000, 0x20000);
  const auto table = table_of(sections, {{0x12000, kA},
                                         {0x12004, kB},
                                         {0x12010, kNoRule},
                                         {0x11080, kA},
                                         {0x11081, kC},
                                         {0x11100, kNoRule},
                                         {0x11100, kC},
                                         {0x11180, kA},
                                         {0x11200, kNoRule}});
  REQUIRE(table);
  CHECK(table->base() == 0x11000);
  CHECK(rows_of(*table) == Rules{{0x11000, kNoRule},
                                 {0x11080, kA},
                                 {0x11081, kC},  // the rule also covers the beginning of the next function
                                 {0x11180, kA},
                                 {0x11200, kNoRule},
                                 {0x12000, kA},
                                 {0x12004, kB},
                                 {0x12010, kNoRule}});
  check_layout(*table);
  CHECK(table->find(0) == kNoRule);
  CHECK(table->find(0x10fff) == kNoRule);
  CHECK(table->find(0x1107f) == kNoRule);
  CHECK(table->find(0x11080) == kA);
  CHECK(table->find(0x1200f) == kB);
  CHECK(table->find(0x12010) == kNoRule);
  CHECK(table->find(UINT64_MAX) == kNoRule);
}

TEST_CASE("of overlapping functions the first one wins, and the other keeps the rest", "[unwind]") {
  const FrameSections sections = code_at(0, 0x20000);
  const auto table = table_of(sections, {{0x1040, kB},
                                         {0x1060, kC},
                                         {0x1090, kNoRule},
                                         {0x1000, kA},
                                         {0x1050, kNoRule},
                                         {0x1010, kC},
                                         {0x1020, kNoRule}});
  REQUIRE(table);
  CHECK(rows_of(*table) == Rules{{0x1000, kA}, {0x1050, kB}, {0x1060, kC}, {0x1090, kNoRule}});
  check_layout(*table);
}

TEST_CASE("second-choice rules fill only gaps of the first choice", "[unwind]") {
  const FrameSections sections = code_at(0, 0x20000);
  const Rules first{{0x1100, kA}, {0x1200, kNoRule}, {0x1180, kA}, {0x1400, kNoRule}, {0x1800, kA}, {0x1900, kNoRule}};
  const auto with = [&](uint64_t begin, uint64_t end) {
    const auto table = table_of(sections, first, {{begin, kC}, {end, kNoRule}});
    check_layout(*table);
    return table->find(begin) == kC || table->find(end - 1) == kC;
  };
  CHECK(with(0x1000, 0x1100));
  CHECK(with(0x1400, 0x1800));
  CHECK(with(0x1900, 0x1a00));
  CHECK_FALSE(with(0x1000, 0x1101));
  CHECK_FALSE(with(0x13ff, 0x1401));
  CHECK_FALSE(with(0x1000, 0x2000));
  CHECK_FALSE(with(0x1850, 0x1860));
}

TEST_CASE("functions outside of the code are ignored", "[unwind]") {
  const FrameSections sections = code_at(0x1000, 0x2000);
  CHECK_FALSE(table_of(sections, {}));
  CHECK_FALSE(table_of(sections, {{0, kA}, {0x40, kNoRule}, {0x2000, kA}, {0x2040, kNoRule}}));
  // Functions that end before they begin, or beyond the range of a table, give no table.
  CHECK_FALSE(table_of(sections, {{0x1100, kA}, {0x1000, kNoRule}}));
  CHECK_FALSE(table_of(sections, {{0x1100, kA}, {uint64_t{1} << 40, kNoRule}}));
  const auto table = table_of(sections, {{0, kA}, {0x40, kNoRule}, {0x1100, kA}, {0x1140, kNoRule}});
  REQUIRE(table);
  CHECK(table->find(0x20) == kNoRule);
  CHECK(table->find(0x1100) == kA);
}

TEST_CASE("rules beyond the capacity of a table are dropped", "[unwind]") {
  const FrameSections sections = code_at(0, 0x1000000);
  TableBuilder builder(sections);
  constexpr uint64_t kRules = Table::kMaxRules + 10;
  for (uint64_t i = 0; i < kRules; ++i) {
    builder.on_rule(0x1000 + i, sp_rule(8 + static_cast<int64_t>(i)));
  }
  builder.on_rule(0x1000 + kRules, kNoRule);
  const auto table = builder.finish();
  REQUIRE(table);
  check_layout(*table);
  CHECK(table->rules().size() == Table::kMaxRules);
  CHECK(table->find(0x1000) == sp_rule(8));
  CHECK(table->find(0x1000 + kRules - 1) == kNoRule);
}

TEST_CASE("code beyond the reach of a table is dropped", "[unwind]") {
  const FrameSections sections = code_at(0, uint64_t{1} << 40);
  const auto table = table_of(sections, {{0x1000, kA},
                                         {0x1001, kNoRule},
                                         {0xf000000, kB},
                                         {0xf000010, kNoRule},
                                         {0x200000000, kA},  // too far from the first address for a table
                                         {0x200000010, kNoRule}});
  REQUIRE(table);
  check_layout(*table);
  CHECK(table->find(0xf000000) == kB);
  CHECK(table->find(0x200000000) == kNoRule);
}

TEST_CASE("a table that would be mostly empty pages is not built", "[unwind]") {
  const FrameSections sections = code_at(0, uint64_t{1} << 40);
  const Rules rules = {{0x1000, kA}, {0x1001, kNoRule}, {0xf0000000, kB}, {0xf0000010, kNoRule}};
  CHECK_FALSE(table_of(sections, rules));
}

TEST_CASE("code without bytes in the file has no rules", "[unwind]") {
  std::ifstream in(kLibc, std::ios::binary);
  if (!in) {
    WARN("skipped: no " << kLibc);
    return;
  }
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  REQUIRE(Table::build(bytes));
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  const bool nobits = GENERATE(true, false);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    uint8_t* at = bytes.data() + header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section{};
    std::memcpy(&section, at, sizeof section);
    if ((section.sh_flags & SHF_EXECINSTR) != 0) {
      nobits ? section.sh_type = SHT_NOBITS : section.sh_size += bytes.size();
      std::memcpy(at, &section, sizeof section);
    }
  }
  CHECK_FALSE(Table::build(bytes));
}

TEST_CASE("a file without section headers has the same table", "[unwind]") {
  std::ifstream in(kLibc, std::ios::binary);
  if (!in) {
    WARN("skipped: no " << kLibc);
    return;
  }
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto whole = Table::build(bytes);
  REQUIRE(whole);
  check_layout(*whole);
  CHECK(whole->vaddr_of(0x30000, 0).has_value());
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  header.e_shoff = 0;
  header.e_shnum = 0;
  std::memcpy(bytes.data(), &header, sizeof header);
  const auto stripped = Table::build(bytes);
  REQUIRE(stripped);
  check_layout(*stripped);
  CHECK(rows_of(*stripped) == rows_of(*whole));
}

TEST_CASE("files of other formats or architectures have no table", "[unwind]") {
  CHECK_FALSE(Table::build(std::span<const uint8_t>{}));
  std::ifstream in(kLibc, std::ios::binary);
  if (!in) {
    WARN("skipped: no " << kLibc);
    return;
  }
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  CHECK_FALSE(Table::build(std::span(bytes).first(60)));
  std::vector<uint8_t> other = bytes;
  other[18] = EM_PPC64;
  CHECK_FALSE(Table::build(other));
  // Truncated and damaged files are read without a crash.
  uint64_t random = 88172645463325252U;
  for (int round = 0; round < 30; ++round) {
    for (int change = 0; change < 1000; ++change) {
      random ^= random << 13U;
      random ^= random >> 7U;
      random ^= random << 17U;
      bytes[64 + random % (bytes.size() - 64)] = static_cast<uint8_t>(random >> 32U);
    }
    if (const auto table = Table::build(std::span(bytes).first(bytes.size() - (round % 2) * (random % bytes.size())))) {
      CHECK(table->find(random) == kNoRule);
    }
  }
}
