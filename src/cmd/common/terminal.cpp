#include "cmd/common/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace gpuprof::cmd {

size_t terminal_width(size_t otherwise) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  return otherwise;
}

bool terminal_colors() {
  const char* const unwanted = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (unwanted == nullptr || *unwanted == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace gpuprof::cmd
