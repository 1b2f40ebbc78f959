// Manual pages: what is written by hand in docs/manual.roff, around what the definitions of the options say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/describe.h"

namespace gpuprof::cmd {

// The part of the text that follows the line `.\" part NAME`, up to the next such line; empty where there is none.
std::string_view manual_part(std::string_view text, std::string_view name);

// docs/manual.roff, as it was when gpuprof was built.
std::string_view manual_text();

// gpuprof(1), in the language of man(7), and that of a command: gpuprof-record(1).
std::string main_page(const std::vector<CommandDescription>& commands, std::string_view text);
std::string command_page(const CommandDescription& command, std::string_view text);

}  // namespace gpuprof::cmd
