#include "cmd/manual/completion.h"

namespace gpuprof::cmd {
namespace {

constexpr const char* kBashHead = R"sh(# bash completion for gpuprof, made by "gpuprof completion bash" from its options

_gpuprof() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command="" at joined=""
  COMPREPLY=()
  # "--option=value" comes as three words.
  if [[ $current == "=" ]]; then
    current="" joined="="
  elif [[ $previous == "=" && $COMP_CWORD -gt 2 ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]} joined="="
  fi
  for ((at = 1; at < COMP_CWORD; at++)); do
    if [[ ${COMP_WORDS[at]} != -* ]]; then
      command=${COMP_WORDS[at]}
      break
    fi
  done
)sh";

constexpr const char* kTail = R"sh(  esac
  if [[ -n $runs ]]; then
    for ((at += 1; at < COMP_CWORD; at++)); do
      if [[ ${COMP_WORDS[at]} == -- ]]; then  # from here on it is another command's, or files
        if declare -F _command_offset >/dev/null; then _command_offset $((at + 1)); return; fi
        kind=files
        break
      fi
    done
  fi
  case $kind in
    none) return ;;
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
    list)
      local done=""
      if [[ $current == *,* ]]; then done=${current%,*},; fi
      mapfile -t COMPREPLY < <(compgen -P "$done" -W "$words" -- "${current##*,}")
      ;;
    files) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    folders) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    users) mapfile -t COMPREPLY < <(compgen -u -- "$current") ;;
    processes) mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$current") ;;
    options)
      if [[ $current == -* || -z $arguments ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
      elif [[ $arguments == files ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -W "$arguments" -- "$current")
      fi
      ;;
  esac
}

complete -o filenames -F _gpuprof gpuprof
)sh";

const char* kind_word(const OptionDescription& option) {
  switch (value_kind(option)) {
    case ValueKind::words:
      return option.is_list ? "list" : "words";
    case ValueKind::files:
      return "files";
    case ValueKind::folders:
      return "folders";
    case ValueKind::users:
      return "users";
    case ValueKind::processes:
      return "processes";
    case ValueKind::none:
      break;
  }
  return "none";
}

// `--stacks | --stacks=) kind=words words="auto inproc" ;;`: what was typed before the value.
std::string value_case(const OptionDescription& option) {
  std::string pattern;
  for (const std::string& name : dashed_names(option)) {
    if (!option.value_is_optional) {
      pattern.append(pattern.empty() ? "" : " | ").append(name);
    }
    if (name.starts_with("--")) {
      pattern.append(pattern.empty() ? "" : " | ").append(name).append("=");
    }
  }
  const std::string words = option.words.empty() ? "" : " words=\"" + joined(option.words) + "\"";
  return "        " + pattern + ") kind=" + kind_word(option) + words + " ;;\n";
}

std::string bash_case(const CommandDescription& command) {
  std::string names;
  std::string values;
  std::string arguments;
  for (const OptionDescription& option : command.options) {
    if (option.is_argument) {
      arguments = value_kind(option) == ValueKind::words ? joined(option.words) : "files";
    }
    if (option.is_positional()) {
      continue;
    }
    for (const std::string& name : dashed_names(option)) {
      names.append(names.empty() ? "" : " ").append(name);
    }
    for (const std::string& word : option.value_is_optional ? option.words : std::vector<std::string>()) {
      names.append(" --").append(option.long_names.front()).append("=").append(word);
    }
    values += option.value.empty() ? "" : value_case(option);
  }
  arguments = arguments.empty() && command.takes_files ? "files" : arguments;
  std::string text =
      "    " + command.name + ")\n      options=\"" + names + (command.runs_command ? " --" : "") + "\"\n";
  text += command.runs_command ? "      runs=yes\n" : "";
  text += arguments.empty() ? "" : "      arguments=\"" + arguments + "\"\n";
  return text + (values.empty() ? "" : "      case $previous$joined in\n" + values + "      esac\n") + "      ;;\n";
}

}  // namespace

std::string bash_completion(const Commands& commands) {
  std::string text = kBashHead;
  const std::string words = first_words(commands);
  text += "  if [[ -z $command ]]; then\n    mapfile -t COMPREPLY < <(compgen -W \"" + words +
          "\" -- \"$current\")\n    return\n  fi\n";
  text += "  local options=\"\" words=\"\" kind=options runs=\"\" arguments=\"\"\n  case $command in\n";
  std::string names;
  for (const CommandDescription& command : commands) {
    text += bash_case(command);
    names.append(names.empty() ? "" : " ").append(command.name);
  }
  return text + "    help) arguments=\"" + names + "\" ;;\n    *) return ;;\n" + kTail;
}

}  // namespace gpuprof::cmd
