// Parses the words after the options of `check`: files or commands of one or two sides.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gpuprof::cmd {

using Words = std::vector<std::string>;

struct TwoSides {
  Words old_words;
  Words new_words;
};

// Returns a usage error. All functions below fail with the exit code kExitUsage, too.
Error check_usage(const std::string& message, std::string hint);

Result<TwoSides> two_sides_of_files(const Words& words);  // OLD... -- NEW...
Result<TwoSides> two_commands(const Words& words);        // [--] COMMAND --- COMMAND
Result<Words> one_command(const Words& words);            // [--] COMMAND
Words files_of_one_side(Words words);                     // [--] FILE...

}  // namespace gpuprof::cmd
