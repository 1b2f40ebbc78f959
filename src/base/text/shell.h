#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gpuprof {

// Quotes a text so that a shell reads it as one word.
std::string shell_word(std::string_view text);

// Quotes each word of a command with shell_word(), and joins them.
std::string shell_words(std::span<const std::string> words);

}  // namespace gpuprof
