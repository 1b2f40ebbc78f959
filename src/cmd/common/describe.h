// Describes commands and their options from their definitions, for manual pages and shell completions.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gpuprof::cmd {

struct Entry;

struct OptionDescription {
  std::vector<std::string> short_names;  // "o" for -o; empty for positional arguments
  std::vector<std::string> long_names;   // "output" for --output; empty for positional arguments
  std::string value;               // placeholder of the value: FILE, REGEX, N ...; empty if the option takes no value
  bool is_argument = false;        // the value may be given without a name: "report FILE"
  bool value_is_optional = false;  // an optional value is joined by "=": --pc-sampling=exact
  bool is_list = false;            // the value may be several words, separated by commas
  bool is_common = false;          // all commands have the option; common options come last
  bool is_basic = false;           // --help shows it, not only --help-all
  std::vector<std::string> words;  // possible values; empty if any value is possible
  std::string text;
  std::string full_text;  // `text`, and the possible values unless `value` lists them

  [[nodiscard]] std::vector<std::string> names() const;  // "-o", "--output"
  [[nodiscard]] bool is_positional() const { return short_names.empty() && long_names.empty(); }
};

struct CommandDescription {
  std::string name;
  std::string summary;
  std::string usage;  // "gpuprof record [OPTIONS] -- COMMAND [ARGS...]"
  std::string footer;
  bool takes_files = false;   // accepts file names that `options` does not list
  bool runs_command = false;  // a command line follows "--"; for check, profiles may follow instead
  std::vector<OptionDescription> options;
};

CommandDescription describe(const Entry& entry);

std::vector<OptionDescription> describe_options(const CLI::App& app);

std::vector<CommandDescription> describe_commands();

}  // namespace gpuprof::cmd
