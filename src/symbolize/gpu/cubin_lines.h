// From an instruction of a cubin to the source lines that it was made of.
//
// An index is made when the file is opened; a function's lines are decoded when they are asked for, and kept. Nothing
// that a file says is believed without a check: what is wrong is as if it were not there.
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

// How a cubin was made, as far as it matters to who wants to see lines.
struct CubinFacts {
  std::string architecture;  // "sm_90a"; may be empty
  bool lines = false;        // else "nvcc -lineinfo" would add them
  bool debug = false;        // "nvcc -G": hardly optimised
  std::string options;       // of the assembler; may be empty
};

class CubinLines {
 public:
  // Nothing when it is not a cubin. The bytes must outlive the object.
  static std::optional<CubinLines> open(std::span<const std::byte> bytes);
  CubinLines(CubinLines&&) = default;
  CubinLines& operator=(CubinLines&&) = default;
  CubinLines(const CubinLines&) = delete;
  CubinLines& operator=(const CubinLines&) = delete;
  ~CubinLines() = default;

  [[nodiscard]] const CubinFacts& facts() const { return facts_; }
  // Kernels, and the functions that they call; by section, then by place in it.
  [[nodiscard]] std::span<const CubinFunction> functions() const { return functions_; }
  // `function` is a name as functions() has it. No, where two functions of that name are equally good.
  [[nodiscard]] bool has_lines(std::string_view function) const;

  // The function that was compiled, and what is inlined into it at `offset` bytes from where `function` begins,
  // outermost first: each with the line that the next one is called at, the last one with that of the instruction.
  // Empty where the file does not say. Where code in the section of `function` belongs to another function, that one is
  // the outermost; it has no line where it was not made of source code, as division. An inlined function has no name
  // where tables were linked: nvlink 13.0 leaves their names where they were not any more.
  std::vector<SourceFrame> frames(std::string_view function, uint64_t offset);

 private:
  struct Start {  // of a sequence
    uint32_t section = 0;
    uint32_t table = 0;
    uint64_t place = 0;  // of its address, in .debug_line
    uint64_t stop = 0;   // where the next sequence begins
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
  std::vector<uint64_t> tables_;                   // where they begin in lines_
  std::optional<uint32_t> first_named_;            // table that has names of inlined functions, once it was looked for
  std::vector<Start> starts_;                      // by section
  std::unordered_map<uint32_t, Section> decoded_;  // by section
  std::unordered_map<uint32_t, std::optional<CubinLineTable>> parsed_;  // tables
  std::unordered_map<std::string_view, std::string> names_;
  size_t rows_kept_ = 0;
  size_t files_kept_ = 0;
  size_t name_bytes_kept_ = 0;
};

}  // namespace gpuprof::symbolize
