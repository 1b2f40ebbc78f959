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
  std::vector<std::string> short_names;  // "o" for -o; empty for a positional argument
  std::vector<std::string> long_names;   // "output" for --output; empty for a positional argument
  // Placeholder of the value (FILE, REGEX, N ...). Empty if the option takes no value.
  std::string value;
  bool is_argument = false;        // the value may be given without the name: "report FILE"
  bool value_is_optional = false;  // the value may be omitted; if given, "=" joins it: --pc-sampling=exact
  bool is_list = false;            // the value may be several words with commas between them
  bool is_common = false;          // all commands have the option; these options come last
  bool is_basic = false;           // --help shows the option, not only --help-all
  std::vector<std::string> words;  // possible values; empty if the option accepts other values
  std::string text;
  std::string full_text;  // `text`, followed by the possible values unless `value` lists them

  [[nodiscard]] std::vector<std::string> names() const;  // for example "-o", "--output"
  [[nodiscard]] bool is_positional() const { return short_names.empty() && long_names.empty(); }
};

struct CommandDescription {
  std::string name;
  std::string summary;
  std::vector<std::string> usage;  // for example "gpuprof record [OPTIONS] -- COMMAND [ARGS...]"
  std::string footer;
  bool takes_files = false;  // the command accepts file names that `options` does not list
  // After "--", a command line follows. For check, it may also be profiles.
  bool runs_command = false;
  std::vector<OptionDescription> options;
};

CommandDescription describe(const Entry& entry);

std::vector<OptionDescription> describe_options(const CLI::App& app);

std::vector<CommandDescription> describe_commands();

}  // namespace gpuprof::cmd
