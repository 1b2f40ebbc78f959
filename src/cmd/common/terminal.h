#pragma once

#include <cstddef>

namespace gpuprof::cmd {

inline constexpr size_t kMaxWidth = 1000;

// Returns the number of characters per line, or `otherwise` if standard output is not a terminal.
size_t terminal_width(size_t otherwise = 120);

// Returns whether standard output is a terminal that shows colours. Returns false if NO_COLOR is set or TERM is dumb.
bool terminal_colors();

}  // namespace gpuprof::cmd
