// Generates manual pages from the hand-written docs/manual.roff and the definitions of the options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/describe.h"

namespace gpuprof::cmd {

// Returns the text from the line `.\" part NAME` to the next such line; "" if the part is missing.
std::string_view manual_part(std::string_view text, std::string_view name);

// Returns docs/manual.roff, which was embedded when gpuprof was built.
std::string_view manual_text();

// Return gpuprof(1), and the page of a command such as gpuprof-record(1), in the man(7) language.
std::string main_page(const std::vector<CommandDescription>& commands, std::string_view text);
std::string command_page(const CommandDescription& command, std::string_view text);

}  // namespace gpuprof::cmd
