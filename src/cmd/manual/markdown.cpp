#include "cmd/manual/markdown.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <vector>

#include "cmd/common/describe.h"
#include "cmd/common/input.h"
#include "cmd/common/stack_choices.h"
#include "cmd/common/window.h"

namespace gpuprof::cmd {
namespace {

using Options = std::vector<OptionDescription>;

template <typename Set>
Options options_of_set() {
  CLI::App app;
  app.set_help_flag();
  Set set;
  set.declare(app);
  return describe_options(app);
}

// Escapes "|", which would end a table cell, and "<", which would begin an HTML tag.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out.append(c == '|' || c == '<' ? "\\" : "").push_back(c);
  }
  return out;
}

std::string row(const OptionDescription& option) {
  std::string names;
  for (const std::string& name : option.names()) {
    names.append(names.empty() ? "" : ", ").append(name);
  }
  const std::string value = option.value_is_optional ? "[=" + option.value + "]" : " " + option.value;
  const std::string text = names.empty() ? option.value : names + (option.value.empty() ? "" : value);
  return "| `" + cell(text) + "` | " + cell(option.full_text) + " |\n";
}

std::string table(const std::string& name, Options options) {
  std::stable_partition(options.begin(), options.end(), [](const auto& option) { return option.is_basic; });
  std::string text = "<!-- options of " + name + " -->\n\n| option | meaning |\n|---|---|\n";
  for (const OptionDescription& option : options) {
    text += row(option);
  }
  return text + "\n<!-- end -->\n";
}

}  // namespace

std::string option_tables() {
  struct Set {
    const char* name;
    Options options;
  };
  const std::array<Set, 3> sets = {{{"input", options_of_set<Input>()},
                                    {"stacks", options_of_set<StackChoices>()},
                                    {"window", options_of_set<Window>()}}};
  const auto in_set = [&sets](const OptionDescription& option) {
    return std::any_of(sets.begin(), sets.end(), [&option](const Set& set) {
      return std::any_of(set.options.begin(), set.options.end(), [&option](const OptionDescription& other) {
        return other.names() == option.names() && other.text == option.text;
      });
    });
  };
  std::string text;
  for (const Set& set : sets) {
    text += table(set.name, set.options);
  }
  for (CommandDescription& command : describe_commands()) {
    std::erase_if(command.options, [&in_set](const auto& option) { return option.is_common || in_set(option); });
    text += command.options.empty() ? "" : table(command.name, std::move(command.options));
  }
  return text;
}

}  // namespace gpuprof::cmd
