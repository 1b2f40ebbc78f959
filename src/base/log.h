// Diagnostics on stderr. An error ends the command and has a hint. A warning means that the result is less than
// requested. Info is progress and summaries (-q hides it). Debug (-v) explains what gpuprof tried. Do not log in a
// forked child: a lock may be held, and a descriptor may be closed.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace gpuprof::log {

enum class Level { quiet = 0, normal = 1, verbose = 2 };

void set_level(Level level);
[[nodiscard]] Level level();

void error(const Error& error);                                   // "gpuprof: error: ..." and "  hint: ..."
void warn(std::string_view message, std::string_view hint = {});  // also with -q, because it affects the result
void info(std::string_view message);
void debug(std::string_view message);
void asked(std::string_view message);  // output that the user requested; also with -q

// Writes as much of `text` as stderr accepts without blocking, and returns how much. For drawing on a terminal.
size_t draw(std::string_view text);

}  // namespace gpuprof::log
