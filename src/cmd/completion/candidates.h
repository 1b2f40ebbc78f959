// What can stand at the cursor of a command line. The completions of bash, zsh and fish ask for it.
#pragma once

#include <string>
#include <vector>

namespace gpuprof::cmd {

// `words` are those behind "gpuprof", up to the cursor; the last one is incomplete, and may be empty. The first line of
// the answer is what to complete: "words", or what the shell itself knows: "files", "folders", "users", "processes",
// "command" (behind "--"), "none". The second line is the part of the last word that stays. Behind "words" there is a
// line for each candidate: the word, a tab, what it means.
std::string candidates(const std::vector<std::string>& words);

}  // namespace gpuprof::cmd
