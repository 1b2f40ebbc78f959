#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <string>

#include "base/utf8.h"

namespace gpuprof::log {
namespace {

std::atomic<Level> g_level{Level::normal};

// One write per message, so that lines of the target and ours do not mix. A message may hold names from a target or a
// file: it stays one line, and no escape sequence in it reaches the terminal.
void put(std::string_view tag, std::string_view message, std::string_view hint) {
  std::string line = "gpuprof: ";
  line += tag;
  append_escaped(message, {}, line);
  line += '\n';
  if (!hint.empty()) {
    line += "  hint: ";
    append_escaped(hint, {}, line);
    line += '\n';
  }
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t n = ::write(STDERR_FILENO, line.data() + done, line.size() - done);
    if (n <= 0) {
      return;
    }
    done += static_cast<size_t>(n);
  }
}

}  // namespace

void set_level(Level level) {
  g_level = level;
}
Level level() {
  return g_level;
}

void error(const Error& error) {
  put("error: ", error.message, error.hint);
}
void warn(std::string_view message, std::string_view hint) {
  put("warning: ", message, hint);
}
void info(std::string_view message) {
  if (level() >= Level::normal) {
    put("", message, {});
  }
}
void debug(std::string_view message) {
  if (level() >= Level::verbose) {
    put("debug: ", message, {});
  }
}

}  // namespace gpuprof::log
