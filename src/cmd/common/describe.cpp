#include "cmd/common/describe.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <string_view>

#include "cmd/command.h"
#include "cmd/common/options.h"

namespace gpuprof::cmd {
namespace {

// "{a,b,c}" within the name of a type: what a check or a suggestion of ours lets the value be.
std::vector<std::string> words_in(const std::string& type) {
  std::vector<std::string> words;
  const size_t begin = type.find('{');
  const size_t end = begin == std::string::npos ? begin : type.find('}', begin);
  if (end == std::string::npos) {
    return words;
  }
  for (size_t at = begin + 1; at < end;) {
    const size_t comma = std::min(type.find(',', at), end);
    const std::string word = type.substr(at, comma - at);
    words.push_back(word.substr(0, word.find("->")));  // of a word that stands for a value
    at = comma + 1;
  }
  return words;
}

OptionDescription describe(const CLI::Option& option) {
  OptionDescription out;
  out.short_names = option.get_snames();
  out.long_names = option.get_lnames();
  out.text = option.get_description();
  out.is_argument = option.get_positional();
  out.is_common = is_common(option);
  out.is_basic = is_basic(option);
  out.words = words_in(option.get_type_name());
  const bool is_flag = option.get_items_expected_max() == 0;
  if (!is_flag || !out.words.empty()) {
    out.value = out.is_positional() ? option.get_name(true) : value_word(option);
    out.value_is_optional = is_flag;
  }
  out.is_list = out.value == "LIST" || out.value.find(",...") != std::string::npos;
  return out;
}

}  // namespace

CommandDescription describe(const Entry& entry) {
  CLI::App app(entry.summary, std::string("gpuprof ") + entry.name);
  const auto command = entry.make();
  Levels levels;
  declare_all(app, *command, levels);
  CommandDescription out{entry.name, entry.summary, usage_line(app), app.get_footer(), {}, app.get_prefix_command(),
                         {}};
  out.takes_files = app.get_allow_extras();
  const auto options = app.get_options();
  std::transform(options.begin(), options.end(), std::back_inserter(out.options),
                 [](const CLI::Option* option) { return describe(*option); });
  std::stable_partition(out.options.begin(), out.options.end(), [](const auto& option) { return !option.is_common; });
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
