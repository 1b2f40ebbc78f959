// Computes completions at the cursor of a command line, for bash, zsh and fish.
#pragma once

#include <string>
#include <vector>

namespace gpuprof::cmd {

// `words`: the words between "gpuprof" and the cursor; the last one is incomplete and may be empty. The first line of
// the answer says what to complete: "words", "none", or something that the shell completes itself ("files",
// "folders", "users", "processes", "command" after "--"). The second line is the unchanged prefix of the last word.
// After "words", each line is a candidate, a tab and its meaning.
std::string candidates(const std::vector<std::string>& words);

}  // namespace gpuprof::cmd
