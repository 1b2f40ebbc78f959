// Maps instructions of a cubin to their source lines.
//
// open() makes an index. frames() decodes a function's lines on first use, and caches them. All data of the file is
// validated, and invalid data is ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "symbolize/gpu/cubin_image.h"
#include "symbolize/gpu/cubin_line_table.h"
#include "symbolize/source_frame.h"

namespace gpuprof::symbolize {

// How a cubin was built, as far as it affects lines.
struct CubinFacts {
  std::string architecture;  // for example "sm_90a"; empty if unknown
  bool lines = false;        // if false, compiling with "nvcc -lineinfo" would add lines
  bool debug = false;        // compiled with "nvcc -G", nearly without optimization
  std::string options;       // assembler options; empty if unknown
};

class CubinLines {
 public:
  // nullopt: not a cubin. The bytes must outlive the object.
  static std::optional<CubinLines> open(std::span<const std::byte> bytes);
  CubinLines(CubinLines&&) = default;
  CubinLines& operator=(CubinLines&&) = default;
  CubinLines(const CubinLines&) = delete;
  CubinLines& operator=(const CubinLines&) = delete;
  ~CubinLines() = default;

  [[nodiscard]] const CubinFacts& facts() const { return facts_; }
  // Kernels and the functions that they call, sorted by section and offset.
  [[nodiscard]] std::span<const CubinFunction> functions() const { return functions_; }
  // `function` is a name from functions(). Also false if the name is ambiguous: several functions have this name and
  // the same, best rank (global, weak, local).
  [[nodiscard]] bool has_lines(std::string_view function) const;

  // Returns the compiled function and the functions inlined into it at `offset` bytes from the start of `function`,
  // outermost first. Each has the line of the call to the next one, the last one has the line of the instruction.
  // Empty if the file has no data. If the code belongs to another function in the section of `function`, that
  // function is the outermost. It has no line if it was not compiled from source code (division, for example). In
  // linked tables, inlined functions have no name: nvlink 13.0 keeps name offsets that are no longer valid.
  std::vector<SourceFrame> frames(std::string_view function, uint64_t offset);

 private:
  struct Start {
    uint32_t section = 0;
    uint32_t table = 0;
    uint64_t place = 0;  // offset in .debug_line of the sequence's start address
    uint64_t stop = 0;   // offset in .debug_line at which the next sequence starts
    uint64_t address = 0;
  };
  struct Decoded {
    uint32_t table = 0;
    CubinSequence sequence;
  };
  using Section = std::vector<Decoded>;
  struct Named {
    const CubinFunction* function = nullptr;
    bool ambiguous = false;
  };

  CubinLines() = default;
  void index_functions(const CubinImage& image);
  void index_lines(const CubinImage& image);

  [[nodiscard]] const CubinFunction* find(std::string_view name) const;
  [[nodiscard]] const CubinFunction* innermost(uint32_t section, uint64_t at) const;
  [[nodiscard]] std::span<const Start> starts_of(uint32_t section) const;
  const CubinLineTable* table(uint32_t index);
  const Section& decode(uint32_t section);
  std::vector<SourceFrame> chain(const Decoded& decoded, size_t row, const CubinFunction& function);
  uint32_t first_named();
  std::string_view inlined_name(uint32_t table_index, uint32_t offset);
  const std::string& demangled(std::string_view name);

  std::span<const uint8_t> lines_;    // .debug_line
  std::span<const uint8_t> strings_;  // .debug_str
  CubinFacts facts_;
  std::vector<CubinFunction> functions_;
  std::unordered_map<std::string_view, Named> by_name_;
  std::vector<uint64_t> tables_;
  // The first table that has names of inlined functions. nullopt: it was not searched yet.
  std::optional<uint32_t> first_named_;
  std::vector<Start> starts_;  // sorted by section
  std::unordered_map<uint32_t, Section> decoded_;
  std::unordered_map<uint32_t, std::optional<CubinLineTable>> parsed_;  // key: offset in lines_
  std::unordered_map<std::string_view, std::string> names_;
  size_t rows_kept_ = 0;
  size_t files_kept_ = 0;
  size_t name_bytes_kept_ = 0;
};

}  // namespace gpuprof::symbolize
