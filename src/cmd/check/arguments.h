// Parses the words after the options of `check`: the files or commands of the new side, or of the old and the new side.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gpuprof::cmd {

using Arguments = std::vector<std::string>;

struct TwoSides {
  Arguments old_words;
  Arguments new_words;
};

// Returns a usage error. All functions below fail with the exit code kExitUsage, too.
Error check_usage(const std::string& message, std::string hint);

Result<TwoSides> two_sides_of_files(const Arguments& words);  // OLD... -- NEW...
Result<TwoSides> two_commands(const Arguments& words);        // [--] COMMAND --- COMMAND
Result<Arguments> one_command(const Arguments& words);        // [--] COMMAND
Arguments files_of_one_side(Arguments words);                 // [--] FILE...

}  // namespace gpuprof::cmd
