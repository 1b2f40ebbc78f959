// Commands as a user can type them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gpuprof {

// What a shell reads as this one word.
std::string shell_word(std::string_view text);

// The words of a command, each as shell_word() has it.
std::string shell_words(std::span<const std::string> words);

}  // namespace gpuprof
