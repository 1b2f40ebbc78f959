// Prints messages for the user on stderr. error() reports why a command ends, with a hint. warn() reports that the
// result is less than was requested. info() reports progress and summaries, which -q hides. debug() reports what
// gpuprof tried, only with -v. Do not call them in a forked child: a lock may be held, and a descriptor may be closed.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace gpuprof::log {

enum class Level { quiet = 0, normal = 1, verbose = 2 };

void set_level(Level level);
[[nodiscard]] Level level();

void error(const Error& error);
void warn(std::string_view message, std::string_view hint = {});  // also printed with -q, because it affects the result
void info(std::string_view message);
void debug(std::string_view message);
void asked(std::string_view message);  // prints what the user requested; also with -q

// Writes what stderr accepts of `text` without blocking, and returns the number of bytes written. For drawing on a
// terminal.
size_t draw(std::string_view text);

}  // namespace gpuprof::log
