// What a flame graph shows of samples below a GPU kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuprof::analyze {

enum class Leaf : uint8_t {
  function,     // of the GPU's code, with what is inlined
  line,         // the same with their lines; below functions the line alone
  instruction,  // its text, or its offset where that is not known and not shown anyway
  offset,       // of the instruction
  stall,        // what was waited for
};

// The frames below a kernel, from it on; each at most once. Empty: the kernel is the leaf.
using Leaves = std::vector<Leaf>;

// Of "line,stall"; "kernel" alone is the empty list.
Result<Leaves> parse_leaves(std::string_view list);

// "line,stall".
std::string leaf_words(const Leaves& leaves);

bool has(const Leaves& leaves, Leaf leaf);

}  // namespace gpuprof::analyze
