// The tables of options in docs/cli.md.
#pragma once

#include <string>

namespace gpuprof::cmd {

// "<!-- options of record -->", a table, "<!-- end -->" for each command that has options of its own, and for the sets
// of options that several commands take.
std::string option_tables();

}  // namespace gpuprof::cmd
