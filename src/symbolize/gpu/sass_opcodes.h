// The table of known opcodes. Internal to sass_instruction.cpp.
#pragma once

#include <cstddef>
#include <string_view>

#include "symbolize/gpu/sass_instruction.h"

namespace gpuprof::symbolize {

// Which operands are results, and how many registers each has.
enum class SassForm : uint8_t {
  result,         // results: the first register, and a predicate before it
  wide,           // like `result`; the register result has 64 bits
  conversion,     // like `result`; the two types in the opcode give the widths
  clock,          // like `result`; the register result has 64 bits, or 32 bits with the modifier ".32"
  load,           // like `result`; the modifiers give the width
  matrix,         // like `result`; the number of matrices gives the width
  atomic,         // like `result`; the modifiers give the width of the result and of the data
  mma,            // like `result`; the shape gives the widths
  texture,        // the first two operands are results
  predicates,     // the first two operands are results if they are predicates
  to_predicates,  // any predicate operand may be a result, because a mask selects the results
  store,          // no result; the modifiers give the width of the data
  matrix_store,   // no result; the number of matrices gives the width of the data
  reads,          // no result; all operands are read
};

struct SassOpcode {
  std::string_view name;
  SassKind kind = SassKind::none;
  SassForm form = SassForm::reads;
  SassFlow flow = SassFlow::next;
  size_t more_predicates = 0;  // number of predicate results after the first register
};

const SassOpcode* sass_opcode(std::string_view name);

}  // namespace gpuprof::symbolize
