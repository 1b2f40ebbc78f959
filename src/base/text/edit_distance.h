// Computes how similar two words are, to suggest the correct one for a misspelling.
#pragma once

#include <cstddef>
#include <string_view>

namespace gpuprof {

// Returns the edit distance: how many letters must be inserted, removed, changed or swapped with a neighbour to turn
// `a` into `b`. The time is proportional to the product of both lengths.
size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace gpuprof
