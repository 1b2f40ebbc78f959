// The terminal that tables are printed on.
#pragma once

#include <cstddef>

namespace gpuprof::cmd {

inline constexpr size_t kMaxWidth = 1000;

// Characters in a line; `otherwise` where standard output is no terminal.
size_t terminal_width(size_t otherwise = 120);

// Whether standard output is a terminal that shows colours. NO_COLOR and TERM=dumb say that they are not wanted.
bool terminal_colors();

}  // namespace gpuprof::cmd
