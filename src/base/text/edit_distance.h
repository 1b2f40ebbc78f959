// Computes how similar two words are, to suggest the correct one for a misspelling.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof {

// Returns how many letters must be inserted, removed, changed or swapped with a neighbour to turn `a` into `b`. The
// time is proportional to the product of both lengths.
size_t edit_distance(std::string_view a, std::string_view b);

// Returns the words that a misspelt `word` most likely means: those of `words` with the smallest edit distance. The
// distance must be at most 2, and less than the length of `word`. Returns nothing if `word` is longer than every
// option's name.
std::vector<std::string_view> nearest_words(std::string_view word, std::span<const std::string> words);

}  // namespace gpuprof
