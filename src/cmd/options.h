// Options of commands: values that several have, and which of them --help shows.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gpuprof::cmd {

// An option that takes the name of a file, for which an empty one is a usage error.
CLI::Option* add_file_option(CLI::App& app, const std::string& names, std::string& value, const std::string& text);

// One that takes a time: "200ms", "2s", "1m", or a number of seconds; from `least_ns` to `most_ns`.
CLI::Option* add_duration_option(CLI::App& app, const std::string& names, uint64_t& value_ns, const std::string& text,
                                 uint64_t least_ns, uint64_t most_ns);

// The options that were given, but for those of these names, as a user can type them: "--weight busy --by device".
std::string options_given(const CLI::App& app, std::initializer_list<const char*> but);

// The options declared so far that --help is to show: all others of the command are for --help-all.
void show_in_help(CLI::App& app, std::initializer_list<const char*> names);

// Makes --help and --help-all of a command, in 80 columns.
void set_help(CLI::App& app);

}  // namespace gpuprof::cmd
