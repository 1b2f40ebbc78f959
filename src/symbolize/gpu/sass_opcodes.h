// What is known of instructions by their name. Internal to sass_instruction.cpp.
#pragma once

#include <cstddef>
#include <string_view>

#include "symbolize/gpu/sass_instruction.h"

namespace gpuprof::symbolize {

// Which operands are results, and of how many registers each is.
enum class SassForm : uint8_t {
  result,         // the first register, with the predicates before it
  wide,           // the same, all of 64 bits
  conversion,     // the same, of the widths of the two types
  clock,          // the same, of 64 bits unless it says 32
  load,           // the same, of the width that it says
  matrix,         // the same, by the number of matrices
  atomic,         // the same, as is its data
  mma,            // the same, by the shape
  texture,        // the first two
  predicates,     // up to two predicates
  to_predicates,  // some of all predicates
  store,          // none; data of the width that it says
  matrix_store,   // none; by the number of matrices
  reads,          // none
};

struct SassOpcode {
  std::string_view name;
  SassKind kind = SassKind::none;
  SassForm form = SassForm::reads;
  SassFlow flow = SassFlow::next;
  size_t more_predicates = 0;  // results behind the first register
};

// Null for a name that is not known.
const SassOpcode* sass_opcode(std::string_view name);

}  // namespace gpuprof::symbolize
