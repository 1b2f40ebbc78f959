// Parses the words after the options of `check`: the files or commands of the new side, or of both sides.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}  // namespace CLI

namespace gpuprof::cmd {

using Arguments = std::vector<std::string>;

struct TwoSides {
  Arguments old_words;
  Arguments new_words;
};

// Returns a usage error. The functions below fail with the exit code kExitUsage, too.
Error check_usage(const std::string& message, std::string hint);

Result<TwoSides> two_sides_of_files(const CLI::App& app, const Arguments& words);  // accepts OLD... -- NEW...
Result<TwoSides> two_commands(const Arguments& words);                             // accepts [--] COMMAND --- COMMAND
Result<Arguments> one_command(const Arguments& words);                             // accepts [--] COMMAND
Result<Arguments> files_of_one_side(const CLI::App& app, Arguments words);         // accepts [--] FILE...

}  // namespace gpuprof::cmd
