#include "cmd/manual/page.h"

#include "base/version.h"

extern const char gpuprof_manual_text_begin[];
extern const char gpuprof_manual_text_end[];

namespace gpuprof::cmd {
namespace {

// Escapes text for roff: backslashes, hyphens (so that a search finds them), and characters that begin a request at
// the start of a line.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool at_begin = out.empty() || out.back() == '\n';
    if (at_begin && (c == '.' || c == '\'')) {
      out += "\\&";
    }
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '^') {
      out += "\\(ha";
    } else if (c == '~') {
      out += "\\(ti";
    } else if (c == '`') {
      out += "\\(ga";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) {
  return "\\fB" + plain(text) + "\\fR";
}

std::string italic(std::string_view text) {
  return "\\fI" + plain(text) + "\\fR";
}

std::string title(std::string_view name) {
  std::string upper;
  for (const char c : name) {
    upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return ".TH " + plain(upper) + " 1 \"\" \"gpuprof " + std::string(version()) + "\" \"User Commands\"\n";
}

// Formats the names of an option: "-o, --output FILE" or "--pc-sampling[=MODE]".
std::string heading(const OptionDescription& option) {
  std::string text;
  const auto add = [&text](const std::string& name) { text.append(text.empty() ? "" : ", ").append(bold(name)); };
  for (const std::string& name : option.short_names) {
    add("-" + name);
  }
  for (const std::string& name : option.long_names) {
    add("--" + name);
  }
  if (option.is_positional()) {
    return italic(option.value);
  }
  if (option.value.empty()) {
    return text;
  }
  return text + (option.value_is_optional ? "[=" + italic(option.value) + "]" : " " + italic(option.value));
}

std::string options_of(const CommandDescription& command, bool basic) {
  std::string text;
  for (const OptionDescription& option : command.options) {
    if (option.is_basic != basic) {
      continue;
    }
    text += ".TP\n" + heading(option) + "\n" + plain(option.full_text) + "\n";
  }
  return text;
}

// Formats "gpuprof record [OPTIONS] -- COMMAND". Program and command are bold.
std::string synopsis(const CommandDescription& command) {
  const std::string name = "gpuprof " + command.name;
  std::string text;
  for (const std::string& line : command.usage) {
    text.append(text.empty() ? "" : ".br\n").append(bold(name)).append(plain(line.substr(name.size()))).append("\n");
  }
  return text;
}

}  // namespace

std::string_view manual_part(std::string_view text, std::string_view name) {
  const std::string line = ".\\\" part " + std::string(name) + "\n";
  const size_t found = text.find(line);
  if (found == std::string_view::npos) {
    return {};
  }
  const size_t begin = found + line.size();
  return text.substr(begin, text.find(".\\\" part ", begin) - begin);
}

std::string_view manual_text() {
  return {gpuprof_manual_text_begin, static_cast<size_t>(gpuprof_manual_text_end - gpuprof_manual_text_begin)};
}

std::string main_page(const std::vector<CommandDescription>& commands, std::string_view text) {
  std::string out = title("gpuprof");
  out += ".SH NAME\ngpuprof \\- which code path is responsible for which GPU time\n";
  out += ".SH SYNOPSIS\n\\fBgpuprof\\fR \\fIcommand\\fR [\\fIoptions\\fR]\n";
  out.append(manual_part(text, "gpuprof description"));
  out += ".SH COMMANDS\n";
  for (const CommandDescription& command : commands) {
    out += ".TP\n.BR gpuprof\\-" + plain(command.name) + " (1)\n" + plain(command.summary) + "\n";
  }
  out.append(manual_part(text, "gpuprof end"));
  return out;
}

std::string command_page(const CommandDescription& command, std::string_view text) {
  const std::string name = "gpuprof-" + command.name;
  std::string out = title(name);
  out += ".SH NAME\n" + plain(name) + " \\- " + plain(command.summary) + "\n";
  out += ".SH SYNOPSIS\n" + synopsis(command);
  const std::string_view description = manual_part(text, command.name + " description");
  if (!description.empty() || !command.footer.empty()) {
    out += ".SH DESCRIPTION\n";
    out.append(description);
    out += command.footer.empty() ? "" : ".PP\n" + plain(command.footer) + "\n";
  }
  out += ".SH OPTIONS\n" + options_of(command, true);
  const std::string more = options_of(command, false);
  out += more.empty() ? "" : ".SS More options\n" + more;
  out.append(manual_part(text, command.name + " end"));
  out += ".SH SEE ALSO\n.BR gpuprof (1)\n";
  return out;
}

}  // namespace gpuprof::cmd
