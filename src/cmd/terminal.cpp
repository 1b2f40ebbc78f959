#include "cmd/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace gpuprof::cmd {

size_t terminal_width() {
  constexpr size_t kDefaultWidth = 120;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  return kDefaultWidth;
}

}  // namespace gpuprof::cmd
