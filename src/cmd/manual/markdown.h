// Writes the tables of options in docs/cli.md.
#pragma once

#include <string>

namespace gpuprof::cmd {

// Returns the option tables of all commands with options, and of each set of options that commands share. "<!--
// options of record -->" precedes a table, and "<!-- end -->" follows it.
std::string option_tables();

}  // namespace gpuprof::cmd
