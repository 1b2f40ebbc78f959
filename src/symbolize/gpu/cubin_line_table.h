// Parses one line table in a cubin's .debug_line: DWARF 2 with NVIDIA's extensions. All of the data may be hostile.
//
// DWARF 2 is extended by two columns per row. `context` is 0 if the code of the row is not inlined. Otherwise it is
// the number of the row that contains the call, counted from 1 in the sequence. `name` is then the name of the
// inlined function, as an offset in .debug_str that is relative to names_begin() of the table. elfutils documents
// both columns as DW_LNE_NVIDIA_inlined_call, and nvdisasm -gi shows the same data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::symbolize {

struct CubinRow {
  uint32_t address = 0;  // offset in the code section
  uint32_t file = 0;     // index to pass to CubinLineTable::file()
  uint32_t line = 0;
  uint32_t context = 0;
  uint32_t name = 0;
};

struct CubinSequence {
  // Sorted by address. If several rows have the same address, the last one is valid.
  std::vector<CubinRow> rows;
  uint32_t end = 0;
};

class CubinLineTable {
 public:
  // Returns the offsets of the tables in the section.
  static std::vector<uint64_t> find_all(std::span<const uint8_t> section);
  // Whether a sequence of the table at offset `table` begins with the address that is stored at offset `place`.
  static bool begins_sequence(std::span<const uint8_t> section, uint64_t table, uint64_t place);

  // Parses the header of the table at `offset`. The section must outlive the object. nullopt: an unknown version.
  static std::optional<CubinLineTable> parse(std::span<const uint8_t> section, uint64_t offset);

  // Decodes the sequence stored in the bytes `place` to `stop` of the section. Its code begins at `address`. Returns
  // nullopt if the sequence is malformed.
  [[nodiscard]] std::optional<CubinSequence> decode(uint64_t place, uint64_t stop, uint64_t address) const;
  // Returns the path of a row's file, or an empty string.
  [[nodiscard]] std::string file(uint32_t index) const;
  [[nodiscard]] size_t file_count() const { return files_.size(); }
  // Returns the offset in .debug_str at which the names of inlined functions begin. nullopt: the table has no such
  // names.
  [[nodiscard]] std::optional<uint32_t> names_begin() const { return names_begin_; }

 private:
  struct File {
    std::string_view name;
    uint64_t folder = 0;  // 1-based index; 0: the file has no folder
  };
  class Program;

  std::span<const uint8_t> bytes_;  // from the start of the section to the end of this table
  std::vector<std::string_view> folders_;
  std::vector<File> files_;
  std::span<const uint8_t> operand_counts_;  // for the standard opcodes, from opcode 1
  std::optional<uint32_t> names_begin_;
  uint8_t minimum_length_ = 0;  // bytes per instruction
  int8_t line_base_ = 0;
  uint8_t line_range_ = 0;
  uint8_t opcode_base_ = 0;
};

}  // namespace gpuprof::symbolize
