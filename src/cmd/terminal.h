// The terminal that tables are printed on.
#pragma once

#include <cstddef>

namespace gpuprof::cmd {

inline constexpr size_t kMaxWidth = 1000;

// Characters in a line; 120 where standard output is no terminal.
size_t terminal_width();

}  // namespace gpuprof::cmd
