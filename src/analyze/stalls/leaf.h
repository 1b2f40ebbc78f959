// Options for what a flame graph shows below GPU kernels with samples.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuprof::analyze {

enum class Leaf : uint8_t {
  function,     // GPU functions, including inlined ones
  line,         // functions with their line numbers; after `function`, only the line
  instruction,  // the instruction's text, or its offset if the text is unknown and `offset` is not selected
  offset,
  stall,  // what the instruction waited for
};

// The kinds of frames below a kernel, outermost first, each at most once. An empty list means no frames.
using Leaves = std::vector<Leaf>;

// Parses a list such as "line,stall". "kernel" is the empty list.
Result<Leaves> parse_leaves(std::string_view list);

std::string leaf_words(const Leaves& leaves);

bool has(const Leaves& leaves, Leaf leaf);

}  // namespace gpuprof::analyze
