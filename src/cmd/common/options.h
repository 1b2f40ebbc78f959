// Options of commands: values that several have, and which of them --help shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gpuprof::cmd {

class Command;

// An option that takes the name of a file, for which an empty one is a usage error.
CLI::Option* add_file_option(CLI::App& app, const std::string& names, std::string& value, const std::string& text);

// --lenient, --width of at least `least` characters, --top with 0 for all, and -o of a profile: options of several
// commands.
void add_lenient_flag(CLI::App& app, bool& lenient);
void add_width_option(CLI::App& app, size_t& width, size_t least);
CLI::Option* add_top_option(CLI::App& app, size_t& top, const std::string& text);
void add_profile_output_option(CLI::App& app, std::string& output);

// One that takes a time: "200ms", "2s", "1m", or a number of seconds; from `least_ns` to `most_ns`.
CLI::Option* add_duration_option(CLI::App& app, const std::string& names, uint64_t& value_ns, const std::string& text,
                                 uint64_t least_ns, uint64_t most_ns);

// The options that were given, but for those of these names, as a user can type them: "--weight busy --by device".
std::string options_given(const CLI::App& app, std::initializer_list<const char*> but);

// The options declared so far that --help is to show: all others of the command are for --help-all.
void show_in_help(CLI::App& app, std::initializer_list<const char*> names);

// Words that the value of an option can be, for completions, where no check of the option names them.
CLI::Option* suggest(CLI::Option* option, const std::vector<std::string>& words);

// Of all commands.
struct Levels {
  bool quiet = false;
  bool verbose = false;
};

// The options of `command`, those that all commands have, and --help and --help-all in 80 columns.
void declare_all(CLI::App& app, Command& command, Levels& levels);

// What texts about options say: whether --help shows one, and "gpuprof record [OPTIONS] -- COMMAND [ARGS...]".
bool is_basic(const CLI::Option& option);
bool is_common(const CLI::Option& option);                        // to all commands
std::vector<std::string> value_words(const CLI::Option& option);  // what the value can be; empty: not known
std::string value_word(const CLI::Option& option);                // "FILE", or its words: "auto|inproc"
std::string full_text(const CLI::Option& option);  // what it does, and the words that its value does not name
std::string usage_line(const CLI::App& app);

}  // namespace gpuprof::cmd
