// Diagnostics, always on stderr. Levels: an error ends the command and carries a hint; a warning says
// that the result is less than was asked for; info is progress and summaries (silenced by -q);
// debug explains what was tried (-v). Not for a forked child: a lock may be held there, and a descriptor gone.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace gpuprof::log {

enum class Level { quiet = 0, normal = 1, verbose = 2 };

void set_level(Level level);
[[nodiscard]] Level level();

void error(const Error& error);                                   // "gpuprof: error: ..." and "  hint: ..."
void warn(std::string_view message, std::string_view hint = {});  // shown at quiet, too: it changes the result
void info(std::string_view message);
void debug(std::string_view message);
void asked(std::string_view message);  // what the user has asked for: at quiet, too

// Writes to stderr what has room there now, as it is: for drawing on a terminal. How much that was.
size_t draw(std::string_view text);

}  // namespace gpuprof::log
