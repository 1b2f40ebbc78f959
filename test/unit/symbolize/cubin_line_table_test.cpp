#include "symbolize/gpu/cubin_line_table.h"

#include <string>

#include "catch.h"

using gpuprof::symbolize::CubinLineTable;
using gpuprof::symbolize::CubinSequence;

namespace {

using Program = std::vector<uint8_t>;

void append(Program& to, const Program& what) {
  to.insert(to.end(), what.begin(), what.end());
}

Program number(uint64_t value, size_t size) {
  Program bytes;
  for (size_t i = 0; i < size; ++i) {
    bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  return bytes;
}

const Program kAddress = {0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0};
const Program kEnd = {0, 1, 1};
constexpr size_t kAddressAt = 3;

struct Header {
  uint16_t version = 2;
  uint8_t line_range = 14;
  Program operations_an_instruction;  // only in line tables of version 4
  Program files = {'/', 's', 0, 0,   'a', '.', 'c', 0, 1,   0, 0, '/', 'b', 0,
                   1,   0,   0, 'c', 0,   9,   0,   0, 'd', 0, 0, 0,   0,   0};
  Program names = {7, 0, 0, 0};
};

Program table(const Program& program, const Header& header = {}) {
  Program fields = {1};
  append(fields, header.operations_an_instruction);
  append(fields, {1, 0xfb, header.line_range, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1});
  append(fields, header.files);
  append(fields, header.names);
  Program rest = number(header.version, 2);
  append(rest, number(fields.size(), 4));
  append(rest, fields);
  append(rest, program);
  Program whole = number(rest.size(), 4);
  append(whole, rest);
  return whole;
}

Program sequence(const Program& body) {
  Program program = kAddress;
  append(program, body);
  append(program, kEnd);
  return program;
}

std::optional<CubinSequence> decode(const Program& body, uint64_t address = 0) {
  const Program program = sequence(body);
  const Program bytes = table(program);
  const auto parsed = CubinLineTable::parse(bytes, 0);
  REQUIRE(parsed);
  return parsed->decode(bytes.size() - program.size() + kAddressAt, bytes.size(), address);
}

// Formats each row as "address file:line context name", and then the end address of the sequence.
std::string text(const std::optional<CubinSequence>& decoded) {
  if (!decoded) {
    return "malformed";
  }
  std::string result;
  for (const auto& row : decoded->rows) {
    result += std::to_string(row.address) + " " + std::to_string(row.file) + ":" + std::to_string(row.line) + " " +
              std::to_string(row.context) + " " + std::to_string(row.name) + ", ";
  }
  return result + "end " + std::to_string(decoded->end);
}

}  // namespace

TEST_CASE("a line program becomes rows") {
  // Line 10; then a special opcode (16 bytes on, line 12); 300 bytes on, line 2 of file 2, inlined at the first row.
  CHECK(text(decode({3, 9, 1, 241, 2, 0xac, 0x02, 4, 2, 3, 0x76, 0, 3, 0x90, 1, 5, 1, 9, 0x10, 0})) ==
        "0 1:10 0 0, 16 1:12 0 0, 316 2:2 1 5, end 332");
  // This program advances by a constant, has unknown opcodes, which are ignored, and sets a function name.
  CHECK(text(decode({8, 1, 5, 0x80, 1, 6, 7, 0, 4, 0x99, 1, 2, 3, 0, 2, 0x91, 8, 1})) ==
        "17 1:1 0 0, 17 1:1 0 8, end 17");
  CHECK(text(decode({1}, 0x100)) == "256 1:1 0 0, end 256");
}

TEST_CASE("a malformed line program has no rows") {
  const Program most = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  const auto with = [&](uint8_t opcode, const Program& tail) {
    Program body = {opcode};
    append(body, most);
    append(body, tail);
    append(body, {1});
    return text(decode(body));
  };
  CHECK(with(2, {1}) == "malformed");                                           // 2^64 - 1
  CHECK(with(2, {2}) == "malformed");                                           // 2^64
  CHECK(with(2, {0x81, 1}) == "malformed");                                     // a number without an end
  CHECK(with(3, {1}) == "malformed");                                           // a 64-bit line advance
  CHECK(with(4, {1}) == "malformed");                                           // a 64-bit file number
  CHECK(text(decode({3, 0x7e})) == "malformed");                                // a line below 0
  CHECK(text(decode({2, 0xff, 0xff, 0xff, 0xff, 0x0f, 2, 1})) == "malformed");  // a 33-bit address
  CHECK(text(decode({1}, uint64_t{1} << 32)) == "malformed");
  CHECK(text(decode({0, 0})) == "malformed");           // an extended opcode of zero bytes
  CHECK(text(decode({0, 2, 0x90, 1})) == "malformed");  // only one of two operands
  CHECK(text(decode({0, 0x7f, 0x90, 1, 2})) == "malformed");
  CHECK(text(decode(kAddress)) == "malformed");  // a second address in one sequence
  CHECK(text(decode(Program((1 << 20) + 1, 1))) == "malformed");
}

TEST_CASE("a sequence must end within its limit") {
  const Program program = sequence({1});
  const Program bytes = table(program);
  const auto parsed = CubinLineTable::parse(bytes, 0);
  REQUIRE(parsed);
  const size_t place = bytes.size() - program.size() + kAddressAt;
  CHECK(parsed->decode(place, bytes.size(), 0));
  CHECK_FALSE(parsed->decode(place, bytes.size() - 1, 0));
  CHECK_FALSE(parsed->decode(place, place + 7, 0));
  CHECK_FALSE(parsed->decode(bytes.size() + 1, ~uint64_t{0}, 0));
}

TEST_CASE("the file list of a line table is parsed") {
  const Program bytes = table({});
  const auto parsed = CubinLineTable::parse(bytes, 0);
  REQUIRE(parsed);
  CHECK(parsed->file_count() == 4);
  CHECK(parsed->file(0).empty());
  CHECK(parsed->file(1) == "/s/a.c");
  CHECK(parsed->file(2) == "/b");
  CHECK(parsed->file(3) == "c");  // its folder number is not in the table
  CHECK(parsed->file(4) == "d");
  CHECK(parsed->file(5).empty());
  CHECK(parsed->names_begin() == 7U);
}

TEST_CASE("line table headers are parsed or rejected") {
  CHECK(CubinLineTable::parse(table({}, {.names = {}}), 0)->names_begin() == std::nullopt);
  CHECK(CubinLineTable::parse(table({}, {.version = 4, .operations_an_instruction = {1}}), 0));
  CHECK_FALSE(CubinLineTable::parse(table({}, {.version = 4, .operations_an_instruction = {2}}), 0));
  CHECK_FALSE(CubinLineTable::parse(table({}, {.version = 5}), 0));
  CHECK_FALSE(CubinLineTable::parse(table({}, {.line_range = 0}), 0));
  CHECK_FALSE(CubinLineTable::parse(table({}, {.files = {'x', 0, 0, 'a'}, .names = {}}), 0));
  const Program whole = table(sequence({1}));
  for (size_t size = 0; size < whole.size(); ++size) {
    CHECK_FALSE(CubinLineTable::parse(std::span(whole).first(size), 0));
  }
}

TEST_CASE("line tables and the beginnings of sequences are found in a section") {
  Program program = sequence({1});
  append(program, sequence({1}));
  Program section = table(program);
  const size_t size = section.size();
  append(section, table(program));
  CHECK(CubinLineTable::find_all(section) == std::vector<uint64_t>{0, size});
  CHECK(CubinLineTable::find_all(std::span(section).first(section.size() - 1)) == std::vector<uint64_t>{0});
  const size_t second = section.size() - sequence({1}).size() + kAddressAt;
  const size_t first = section.size() - program.size() + kAddressAt;
  CHECK(CubinLineTable::begins_sequence(section, size, first));
  CHECK(CubinLineTable::begins_sequence(section, size, second));
  CHECK_FALSE(CubinLineTable::begins_sequence(section, size, second - 1));
  CHECK_FALSE(CubinLineTable::begins_sequence(section, size, 0));
  CHECK_FALSE(CubinLineTable::begins_sequence(section, size, ~uint64_t{0}));
  // An address in the middle of a sequence does not begin a new one.
  Program middle = {1};
  append(middle, kAddress);
  const Program odd = table(sequence(middle));
  CHECK_FALSE(CubinLineTable::begins_sequence(odd, 0, odd.size() - 3 - 8));
}
