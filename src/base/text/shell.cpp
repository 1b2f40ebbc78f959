#include "base/text/shell.h"

#include <algorithm>

namespace gpuprof {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_./%+,:=@-").find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quoted + "'";
}

std::string shell_words(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) {
    text.append(text.empty() ? "" : " ").append(shell_word(word));
  }
  return text;
}

}  // namespace gpuprof
