#include "cmd/manual/completion.h"

namespace gpuprof::cmd {
namespace {

// Within single quotes; brackets end an explanation, colons a field.
std::string zsh_quoted(const std::string& text, bool in_field) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == '\\' || (in_field && c == ':')) {
      out += '\\';
    }
    out += c;
  }
  return out;
}

// ":FILE:_files": what the value is called, and what it is completed from.
std::string value_spec(const OptionDescription& option) {
  std::string begin = ":" + zsh_quoted(option.value, true) + ":";
  switch (value_kind(option)) {
    case ValueKind::words:
      return begin + (option.is_list ? "_values -s , word " + joined(option.words) : "(" + joined(option.words) + ")");
    case ValueKind::files:
      return begin + "_files";
    case ValueKind::folders:
      return begin + "_files -/";
    case ValueKind::users:
      return begin + "_users";
    case ValueKind::processes:
      return begin + "_pids";
    case ValueKind::none:
      break;
  }
  return begin;
}

// One word of _arguments for each name of the option.
std::string option_specs(const OptionDescription& option) {
  std::string text;
  for (const std::string& name : dashed_names(option)) {
    const bool is_long = name.starts_with("--");
    std::string spec = name;
    if (!option.value.empty()) {
      spec += option.value_is_optional ? "=-" : is_long ? "=" : "+";
    }
    spec += "[" + zsh_quoted(short_text(option), false) + "]";
    if (!option.value.empty()) {
      spec += (option.value_is_optional ? ":" : "") + value_spec(option);
    }
    text += " \\\n        '*" + spec + "'";
  }
  return text;
}

std::string zsh_case(const CommandDescription& command) {
  std::string text = "    " + command.name + ")\n      _arguments -s -S";
  for (const OptionDescription& option : command.options) {
    text += option.is_argument ? " \\\n        '*" + value_spec(option) + "'" : "";
    text += option.is_positional() ? "" : option_specs(option);
  }
  text += command.takes_files && !command.runs_command ? " \\\n        '*:FILE:_files'" : "";
  text += command.runs_command ? " \\\n        '*:: :_normal'" : "";
  return text + "\n      ;;\n";
}

}  // namespace

std::string zsh_completion(const Commands& commands) {
  std::string names;
  std::string cases;
  for (const CommandDescription& command : commands) {
    names += "    '" + command.name + ":" + zsh_quoted(command.summary, false) + "'\n";
    cases += zsh_case(command);
  }
  return "#compdef gpuprof\n# zsh completion for gpuprof, made by \"gpuprof completion zsh\" from its options\n\n"
         "_gpuprof() {\n  local curcontext=$curcontext state line\n  local -a commands\n  commands=(\n" +
         names +
         "    'help:show the options of a command'\n    'version:show the version'\n  )\n"
         "  _arguments -C '1: :->command' '*:: :->argument'\n"
         "  if [[ $state == command ]]; then\n    _describe -t commands 'gpuprof command' commands\n    return\n  fi\n"
         "  case $words[1] in\n" +
         cases +
         "    help) _describe -t commands 'gpuprof command' commands ;;\n  esac\n}\n\n"
         // Loaded by its name it completes at once; sourced, it is made known.
         "if [[ $funcstack[1] == _gpuprof ]]; then\n  _gpuprof \"$@\"\nelse\n  compdef _gpuprof gpuprof\nfi\n";
}

}  // namespace gpuprof::cmd
