// Computes completions at the cursor of a command line, for bash, zsh and fish.
#pragma once

#include <string>
#include <vector>

namespace gpuprof::cmd {

// `words` are the words after "gpuprof" up to the cursor. The last one may be incomplete. Line 1 of the result says
// what to complete: "words", "none", or what the shell itself completes ("files", "folders", "users", "processes",
// "command"). Line 2 is the part of the last word to keep. After "words", each further line has a candidate, a tab
// and its meaning.
std::string candidates(const std::vector<std::string>& words);

}  // namespace gpuprof::cmd
