#include "cmd/manual/completion.h"

#include <algorithm>

namespace gpuprof::cmd {

std::vector<std::string> dashed_names(const OptionDescription& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.short_names) {
    names.push_back("-" + name);
  }
  for (const std::string& name : option.long_names) {
    names.push_back("--" + name);
  }
  return names;
}

std::string short_text(const OptionDescription& option) {
  constexpr size_t kLongest = 72;
  std::string text = option.text.substr(0, std::min(option.text.find("; "), option.text.find(" (default")));
  if (text.size() <= kLongest) {
    return text;
  }
  const size_t end = text.rfind(' ', kLongest);
  return text.substr(0, end == std::string::npos ? kLongest : end) + " ...";
}

ValueKind value_kind(const OptionDescription& option) {
  const std::string& value = option.value;
  return !option.words.empty()       ? ValueKind::words
         : value.starts_with("FILE") ? ValueKind::files
         : value == "FOLDER"         ? ValueKind::folders
         : value == "USER"           ? ValueKind::users
         : value == "PID"            ? ValueKind::processes
                                     : ValueKind::none;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text.append(text.empty() ? "" : " ").append(word);
  }
  return text;
}

std::string first_words(const Commands& commands) {
  std::string text;
  for (const CommandDescription& command : commands) {
    text.append(command.name).append(" ");
  }
  return text + "help version --help --version";
}

}  // namespace gpuprof::cmd
