// Computes completions at the cursor of a command line, for bash, zsh and fish.
#pragma once

#include <string>
#include <vector>

namespace gpuprof::cmd {

// `words`: the words after "gpuprof" up to the cursor; the last word is incomplete. Line 1 of the answer says what to
// complete: "words", "none", or what the shell itself completes ("files", "folders", "users", "processes", "command").
// Line 2 is the prefix of the last word to keep. After "words", each line is a candidate, a tab and its meaning.
std::string candidates(const std::vector<std::string>& words);

}  // namespace gpuprof::cmd
