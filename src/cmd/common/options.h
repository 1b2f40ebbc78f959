// Declares options that several commands have, and chooses which options --help shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "analyze/rows/measure.h"
#include "base/result.h"

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace gpuprof::cmd {

class Command;

// Adds an option that takes a file name. If the name is empty, parsing fails with a usage error.
CLI::Option* add_file_option(CLI::App& app, const std::string& names, std::string& value, const std::string& text);

// These functions add options that several commands have: --lenient, --width (at least `least`), --top (0 means all)
// and -o.
void add_lenient_flag(CLI::App& app, bool& lenient);
void add_width_option(CLI::App& app, size_t& width, size_t least);
CLI::Option* add_top_option(CLI::App& app, size_t& top, const std::string& text);
void add_profile_output_option(CLI::App& app, std::string& output);

// Adds --weight: a measure of a comparison.
CLI::Option* add_measure_option(CLI::App& app, analyze::Measure& measure, const std::string& text);

// Adds an option that takes a time from `least_ns` to `most_ns`. It may be "200ms", "2s" or "1m", or a number of
// seconds.
CLI::Option* add_duration_option(CLI::App& app, const std::string& names, uint64_t& value_ns, const std::string& text,
                                 uint64_t least_ns, uint64_t most_ns);

// Returns the options that the user gave, except those in `but`, as a text: "--weight busy --by device".
std::string options_given(const CLI::App& app, std::initializer_list<const char*> but);

// Makes --help show only `names` of the options declared so far. --help-all also shows the others.
void show_in_help(CLI::App& app, std::initializer_list<const char*> names);

// Names values of an option for the help and for shell completion. The option still accepts other values.
CLI::Option* suggest(CLI::Option* option, const std::vector<std::string>& words);

// These functions make an option reject other values, with a message that lists what it accepts. A percentage may end
// with "%".
CLI::Option* expect_one_of(CLI::Option* option, const std::vector<std::string>& words);
CLI::Option* expect_number(CLI::Option* option, uint64_t least, uint64_t most,
                           const std::string& what = "whole number");
CLI::Option* expect_percentage(CLI::Option* option, double least, double most);

// Returns the error for an option that the command does not have. It suggests options with similar names.
Error unknown_option(const CLI::App& app, const std::string& given);

// Fails if an option is among the words that App::parse() has left to the command as file names. `words` may have the
// marks "-", "--" and "---".
Status check_no_options(const CLI::App& app, const std::vector<std::string>& words);

// Returns the error for arguments that App::parse() could not parse.
Error unusable_arguments(const CLI::App& app, const CLI::ParseError& error);

struct Levels {
  bool quiet = false;
  bool verbose = false;
};

// Declares the options of `command` and those of all commands. Formats --help and --help-all in 80 columns.
void declare_all(CLI::App& app, Command& command, Levels& levels);

// These functions describe an option. help_parts() describes a command.
bool is_basic(const CLI::Option& option);
bool is_common(const CLI::Option& option);
std::vector<std::string> value_words(const CLI::Option& option);  // possible values; empty if they are not known
// Returns a placeholder such as "FILE", or the possible values: "auto|inproc".
std::string value_word(const CLI::Option& option);
// Returns the description, and the possible values unless value_word() lists them.
std::string full_text(const CLI::Option& option);

// If the footer starts with lines like "Usage: gpuprof diff OLD NEW", `usage` has these lines, and `footer` the others.
// Otherwise, `usage` has one line that is made from the options.
struct HelpParts {
  std::vector<std::string> usage;  // each like "gpuprof record [OPTIONS] -- COMMAND [ARGS...]"; never empty
  std::string footer;
};
HelpParts help_parts(const CLI::App& app);

}  // namespace gpuprof::cmd
