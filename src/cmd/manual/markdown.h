// Writes the tables of options in docs/cli.md.
#pragma once

#include <string>

namespace gpuprof::cmd {

// Returns "<!-- options of record -->", a table and "<!-- end -->" for each command with options. Does the same for
// each set of options that commands share.
std::string option_tables();

}  // namespace gpuprof::cmd
