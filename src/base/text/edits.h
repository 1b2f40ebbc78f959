// How alike two words are: what a misspelt one was meant to be.
#pragma once

#include <cstddef>
#include <string_view>

namespace gpuprof {

// How many letters must be put in, left out, changed or swapped with their neighbour to make `b` of `a`. Takes time in
// proportion to both lengths.
size_t edits(std::string_view a, std::string_view b);

}  // namespace gpuprof
