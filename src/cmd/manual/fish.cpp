#include "cmd/manual/completion.h"

namespace gpuprof::cmd {
namespace {

constexpr const char* kFishHead = R"sh(# fish completion for gpuprof, made by "gpuprof completion fish" from its options

# The words after "gpuprof" that are no options of its own.
function __gpuprof_words
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]; and string match -q -- '-*' $words[1]
        set -e words[1]
    end
    string join \n -- $words
end

function __gpuprof_needs_command
    set -l words (__gpuprof_words)
    test (count $words) -eq 0
end

# Whether options of the command $argv are typed.
function __gpuprof_is
    set -l words (__gpuprof_words)
    test (count $words) -gt 0; and test $words[1] = $argv[1]; and not contains -- -- $words
end

# Whether a command to record is typed, behind "--".
function __gpuprof_runs
    set -l words (__gpuprof_words)
    test (count $words) -gt 0; and contains -- $words[1] $argv; and contains -- -- $words
end

function __gpuprof_target
    set -l words (__gpuprof_words) (commandline -ct)
    while test (count $words) -gt 0; and test "$words[1]" != --
        set -e words[1]
    end
    set -e words[1]
    complete -C (string join ' ' -- $words)
end

complete -c gpuprof -f
)sh";

std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    out.append(c == '\'' || c == '\\' ? "\\" : "").push_back(c);
  }
  return out + "'";
}

// What follows -s and -l: whether there is a value, and what it is completed from.
std::string value_options(const OptionDescription& option) {
  if (option.value.empty() || option.value_is_optional) {
    return "";
  }
  switch (value_kind(option)) {
    case ValueKind::words:
      return option.is_list ? " -x -a " + fish_quoted("(__fish_append , " + joined(option.words) + ")")
                            : " -x -a " + fish_quoted(joined(option.words));
    case ValueKind::files:
      return " -r -F";
    case ValueKind::folders:
      return " -x -a '(__fish_complete_directories)'";
    case ValueKind::users:
      return " -x -a '(__fish_complete_users)'";
    case ValueKind::processes:
      return " -x -a '(__fish_complete_pids)'";
    case ValueKind::none:
      break;
  }
  return " -x";
}

std::string option_line(const std::string& begin, const OptionDescription& option) {
  std::string text;
  const std::string meaning = " -d " + fish_quoted(short_text(option)) + "\n";
  if (option.is_positional()) {
    return value_kind(option) == ValueKind::words ? begin + " -a " + fish_quoted(joined(option.words)) + meaning
                                                  : begin + " -F\n";
  }
  text = option.is_argument ? begin + " -F\n" + begin : begin;
  for (const std::string& name : option.short_names) {
    text += " -s " + name;
  }
  for (const std::string& name : option.long_names) {
    text += " -l " + name;
  }
  text += value_options(option) + meaning;
  for (const std::string& word : option.value_is_optional ? option.words : std::vector<std::string>()) {
    text += begin + " -a " + fish_quoted("--" + option.long_names.front() + "=" + word) + "\n";
  }
  return text;
}

}  // namespace

std::string fish_completion(const Commands& commands) {
  std::string text = kFishHead;
  std::string names;
  std::string running;
  for (const CommandDescription& command : commands) {
    text += "complete -c gpuprof -n __gpuprof_needs_command -a " + command.name + " -d " +
            fish_quoted(command.summary) + "\n";
    names += " " + command.name;
    running += command.runs_command ? " " + command.name : "";
  }
  text += "complete -c gpuprof -n __gpuprof_needs_command -a help -d 'show the options of a command'\n";
  text += "complete -c gpuprof -n __gpuprof_needs_command -a version -d 'show the version'\n";
  text += "complete -c gpuprof -n '__gpuprof_is help' -a " + fish_quoted(names.substr(1)) + "\n";
  for (const CommandDescription& command : commands) {
    const std::string begin = "complete -c gpuprof -n '__gpuprof_is " + command.name + "'";
    text += command.takes_files ? begin + " -F\n" : "";
    for (const OptionDescription& option : command.options) {
      text += option_line(begin, option);
    }
  }
  return text + "complete -c gpuprof -n '__gpuprof_runs" + running + "' -F -a '(__gpuprof_target)'\n";
}

}  // namespace gpuprof::cmd
