// Completions for shells: of commands, of their options, and of the values that options take.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/describe.h"

namespace gpuprof::cmd {

using Commands = std::vector<CommandDescription>;

std::string bash_completion(const Commands& commands);
std::string zsh_completion(const Commands& commands);
std::string fish_completion(const Commands& commands);

// "--output" of "output", "-o" of "o": all names of an option, the short ones first.
std::vector<std::string> dashed_names(const OptionDescription& option);

// What an option does, in a few words.
std::string short_text(const OptionDescription& option);

// What a value is completed from.
enum class ValueKind { none, words, files, folders, users, processes };
ValueKind value_kind(const OptionDescription& option);

// "a b c".
std::string joined(const std::vector<std::string>& words);

// The first word of whatever begins with "-", as "help COMMAND" and "version" are no entries of the table.
std::string first_words(const Commands& commands);

}  // namespace gpuprof::cmd
