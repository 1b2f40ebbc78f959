// What commands and their options are called and take, read from their definitions: the source of manual pages and of
// completions for shells.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gpuprof::cmd {

struct Entry;

struct OptionDescription {
  std::vector<std::string> short_names;  // "o"
  std::vector<std::string> long_names;   // "output"; both are empty for a positional argument
  std::string value;                     // what its value is called: FILE, REGEX, N ...; empty: it takes none
  bool is_argument = false;              // its value may stand without a name: "report FILE"
  bool value_is_optional = false;        // then it is joined by "=": --pc-sampling=exact
  bool is_list = false;                  // the value may be several words, with commas between them
  bool is_common = false;                // all commands have it; such ones come last
  bool is_basic = false;                 // --help shows it, not only --help-all
  std::vector<std::string> words;        // that the value can be; empty: not known, or no word
  std::string text;                      // a phrase that says what it does
  std::string full_text;                 // the same, with the words that `value` does not name

  [[nodiscard]] std::vector<std::string> names() const;  // "-o", "--output"
  [[nodiscard]] bool is_positional() const { return short_names.empty() && long_names.empty(); }
};

struct CommandDescription {
  std::string name;
  std::string summary;
  std::string usage;  // "gpuprof record [OPTIONS] -- COMMAND [ARGS...]"
  std::string footer;
  bool takes_files = false;   // besides its options
  bool runs_command = false;  // what follows "--" is a command, or profiles
  std::vector<OptionDescription> options;
};

CommandDescription describe(const Entry& entry);

// Of the options that `app` has.
std::vector<OptionDescription> describe_options(const CLI::App& app);

// Of all commands.
std::vector<CommandDescription> describe_commands();

}  // namespace gpuprof::cmd
