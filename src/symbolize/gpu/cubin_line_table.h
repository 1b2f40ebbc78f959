// One line table of a cubin's .debug_line: DWARF 2 with what NVIDIA adds to it. Everything in it is hostile.
//
// Each row has two columns more. `context` is the number of the row, counted from 1 in its sequence, at which the
// function of this row is inlined; 0: it is not inlined. `name` says then what the function is called: an offset in
// .debug_str, from where the table's header says that its names begin. elfutils documents both as
// DW_LNE_NVIDIA_inlined_call; nvdisasm -gi shows the same.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::symbolize {

struct CubinRow {
  uint32_t address = 0;  // in the section of the code
  uint32_t file = 0;     // see CubinLineTable::file()
  uint32_t line = 0;
  uint32_t context = 0;
  uint32_t name = 0;
};

struct CubinSequence {
  std::vector<CubinRow> rows;  // by address; of several at one address the last one counts
  uint32_t end = 0;            // one past the last address
};

class CubinLineTable {
 public:
  // Where the tables of a section begin.
  static std::vector<uint64_t> find_all(std::span<const uint8_t> section);
  // Whether a sequence begins with the address at `place` in the section, in the table that begins at `table`.
  static bool begins_sequence(std::span<const uint8_t> section, uint64_t table, uint64_t place);

  // The header of the table at `offset`; the section must outlive the object. Nothing where it is of an unknown kind.
  static std::optional<CubinLineTable> parse(std::span<const uint8_t> section, uint64_t offset);

  // The sequence whose first address is at `place`, and stands for `address`; it ends before `stop`, where the next one
  // begins, at the latest. Nothing where it is not well-formed.
  [[nodiscard]] std::optional<CubinSequence> decode(uint64_t place, uint64_t stop, uint64_t address) const;
  // The path of a row's file. Empty where there is no such file.
  [[nodiscard]] std::string file(uint32_t index) const;
  [[nodiscard]] size_t file_count() const { return files_.size(); }
  // Where the names of inlined functions begin in .debug_str. Nothing where the table has none.
  [[nodiscard]] std::optional<uint32_t> names_begin() const { return names_begin_; }

 private:
  struct File {
    std::string_view name;
    uint64_t folder = 0;  // counted from 1; 0: none
  };
  class Program;

  std::span<const uint8_t> bytes_;  // of the section, up to the end of the table
  std::vector<std::string_view> folders_;
  std::vector<File> files_;
  std::span<const uint8_t> operand_counts_;  // of the standard opcodes, from 1 on
  std::optional<uint32_t> names_begin_;
  uint8_t minimum_length_ = 0;  // of an instruction, in bytes
  int8_t line_base_ = 0;
  uint8_t line_range_ = 0;
  uint8_t opcode_base_ = 0;
};

}  // namespace gpuprof::symbolize
