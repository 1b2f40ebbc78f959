#include "cmd/common/describe.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <string_view>

#include "cmd/command.h"
#include "cmd/common/options.h"

namespace gpuprof::cmd {
namespace {

OptionDescription describe(const CLI::Option& option) {
  OptionDescription out;
  out.short_names = option.get_snames();
  out.long_names = option.get_lnames();
  out.text = option.get_description();
  out.full_text = full_text(option);
  out.is_argument = option.get_positional();
  out.is_common = is_common(option);
  out.is_basic = is_basic(option);
  out.words = value_words(option);
  const bool is_flag = option.get_items_expected_max() == 0;
  if (!is_flag || !out.words.empty()) {
    out.value = out.is_positional() ? option.get_name(true) : value_word(option);
    out.value_is_optional = is_flag;
  }
  out.is_list = out.value == "LIST" || out.value.find(",...") != std::string::npos;
  return out;
}

}  // namespace

std::vector<std::string> OptionDescription::names() const {
  std::vector<std::string> names;
  std::transform(short_names.begin(), short_names.end(), std::back_inserter(names),
                 [](const std::string& name) { return "-" + name; });
  std::transform(long_names.begin(), long_names.end(), std::back_inserter(names),
                 [](const std::string& name) { return "--" + name; });
  return names;
}

CommandDescription describe(const Entry& entry) {
  CLI::App app(entry.summary, std::string("gpuprof ") + entry.name);
  const auto command = entry.make();
  Levels levels;
  declare_all(app, *command, levels);
  HelpParts parts = help_parts(app);
  CommandDescription out{
      entry.name, entry.summary, std::move(parts.usage), std::move(parts.footer), {}, app.get_prefix_command(), {}};
  out.takes_files = app.get_allow_extras();
  out.options = describe_options(app);
  std::stable_partition(out.options.begin(), out.options.end(), [](const auto& option) { return !option.is_common; });
  return out;
}

std::vector<OptionDescription> describe_options(const CLI::App& app) {
  std::vector<OptionDescription> out;
  const auto options = app.get_options();
  std::transform(options.begin(), options.end(), std::back_inserter(out),
                 [](const CLI::Option* option) { return describe(*option); });
  return out;
}

std::vector<CommandDescription> describe_commands() {
  std::vector<CommandDescription> all;
  for (const Entry& entry : command_table()) {
    all.push_back(describe(entry));
  }
  return all;
}

}  // namespace gpuprof::cmd
