// Parses one operand of an instruction's text. Internal to sass_instruction.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gpuprof::symbolize {

struct SassOperand {
  struct Register {
    size_t number = 0;  // as in sass_instruction.h: unique over all register files
    size_t end = 0;     // number after the last register of its register file
    size_t width = 1;
  };

  std::vector<Register> registers;
  bool valid = true;          // false if it names a register that does not exist
  bool is_predicate = false;  // a predicate register such as P0, PT, UP0 or PR
  bool negated = false;       // "!P0": never a result
  bool is_memory = false;     // an address in memory, or a constant
  bool is_constant = false;
  uint8_t barrier = 0;  // for example 3 for "B3"
};

// Takes the first operand from `text`. Commas separate operands, except inside brackets.
std::string_view next_sass_operand(std::string_view& text);

SassOperand parse_sass_operand(std::string_view text);

}  // namespace gpuprof::symbolize
