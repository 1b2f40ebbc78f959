#include "cmd/completion/candidates.h"

#include <algorithm>
#include <string_view>

#include "cmd/command.h"
#include "cmd/common/describe.h"

namespace gpuprof::cmd {
namespace {

// The last word of the command line is `kept` followed by `begun`. A completion replaces `begun` and leaves `kept`.
struct Cursor {
  std::string kept;
  std::string begun;
};

class Answer {
 public:
  Answer(const char* kind, const Cursor& cursor)
      : begun_(cursor.begun), text_(std::string(kind) + "\n" + cursor.kept + "\n") {}

  void add(const std::string& word, const std::string& meaning = "") {
    if (word.starts_with(begun_)) {
      text_ += word + "\t" + meaning + "\n";
    }
  }
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  std::string begun_;
  std::string text_;
};

const char* kind_of_value(std::string_view value) {
  return value.starts_with("FILE") ? "files"
         : value == "FOLDER"       ? "folders"
         : value == "USER"         ? "users"
         : value == "PID"          ? "processes"
                                   : "none";
}

std::string of_value(const OptionDescription& option, Cursor cursor) {
  if (option.words.empty()) {
    return Answer(kind_of_value(option.value), cursor).text();
  }
  if (const size_t comma = cursor.begun.rfind(','); option.is_list && comma != std::string::npos) {
    cursor.kept += cursor.begun.substr(0, comma + 1);
    cursor.begun.erase(0, comma + 1);
  }
  Answer answer("words", cursor);
  for (const std::string& word : option.words) {
    answer.add(word);
  }
  return std::move(answer).text();
}

std::string of_commands(const Cursor& cursor, bool first_word) {
  Answer answer("words", cursor);
  for (const Entry& entry : command_table()) {
    answer.add(entry.name, entry.summary);
  }
  if (first_word) {
    answer.add("help", "show the options of a command");
    answer.add("version", "show the version");
    answer.add("--help");
    answer.add("--version");
  }
  return std::move(answer).text();
}

std::string of_options(const CommandDescription& command, const Cursor& cursor) {
  Answer answer("words", cursor);
  for (const OptionDescription& option : command.options) {
    for (const std::string& name : option.names()) {
      answer.add(name, option.text);
    }
    for (const std::string& word : option.value_is_optional ? option.words : std::vector<std::string>()) {
      answer.add("--" + option.long_names.front() + "=" + word, option.text);
    }
  }
  if (command.runs_command) {
    answer.add("--", "the command follows");
  }
  return std::move(answer).text();
}

// Returns the option that has the name `name` ("-o", "--output") and takes a value, or nullptr.
const OptionDescription* option_with_value(const CommandDescription& command, const std::string& name) {
  const auto found = std::find_if(command.options.begin(), command.options.end(), [&name](const auto& option) {
    const auto names = option.names();
    return !option.value.empty() && std::find(names.begin(), names.end(), name) != names.end();
  });
  return found == command.options.end() ? nullptr : &*found;
}

std::string within_command(const CommandDescription& command, const std::vector<std::string>& words) {
  const std::string& last = words.back();
  const auto before = words.end() - 1;
  const Cursor whole{"", last};
  if (command.runs_command && std::find(words.begin(), before, "--") != before) {
    return Answer("command", whole).text();
  }
  const auto* const previous = option_with_value(command, *(before - 1));
  if (previous != nullptr && !previous->value_is_optional) {
    return of_value(*previous, whole);
  }
  if (const size_t equals = last.find('='); last.starts_with("--") && equals != std::string::npos) {
    const auto* const option = option_with_value(command, last.substr(0, equals));
    const Cursor cursor{last.substr(0, equals + 1), last.substr(equals + 1)};
    return option == nullptr ? Answer("none", cursor).text() : of_value(*option, cursor);
  }
  const auto argument = std::find_if(command.options.begin(), command.options.end(),
                                     [](const OptionDescription& option) { return option.is_argument; });
  const bool has_argument = argument != command.options.end();
  if (last.starts_with("-") || (!has_argument && !command.takes_files)) {
    return of_options(command, whole);
  }
  return has_argument && !argument->words.empty() ? of_value(*argument, whole) : Answer("files", whole).text();
}

}  // namespace

std::string candidates(const std::vector<std::string>& words) {
  const Cursor whole{"", words.empty() ? "" : words.back()};
  const auto name = std::find_if(words.begin(), words.end() - (words.empty() ? 0 : 1),
                                 [](const std::string& word) { return !word.starts_with("-"); });
  if (words.end() - name < 2) {
    return of_commands(whole, true);
  }
  if (*name == "help") {
    return of_commands(whole, false);
  }
  const auto table = command_table();
  const auto entry = std::find_if(table.begin(), table.end(), [&name](const Entry& e) { return *name == e.name; });
  return entry == table.end() ? Answer("none", whole).text() : within_command(describe(*entry), {name, words.end()});
}

}  // namespace gpuprof::cmd
