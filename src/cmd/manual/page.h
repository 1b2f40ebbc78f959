// Makes manual pages from docs/manual.roff, which is written by hand, and from the definitions of the options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/describe.h"

namespace gpuprof::cmd {

// Returns the text between the line `.\" part NAME` and the next line of this kind, or "" if the part does not exist.
std::string_view manual_part(std::string_view text, std::string_view name);

// Returns docs/manual.roff as it was when gpuprof was built.
std::string_view manual_text();

// These functions return gpuprof(1) and the page of a command, such as gpuprof-record(1), in the language man(7).
std::string main_page(const std::vector<CommandDescription>& commands, std::string_view text);
std::string command_page(const CommandDescription& command, std::string_view text);

}  // namespace gpuprof::cmd
