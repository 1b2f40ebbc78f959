#include "base/files/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace gpuprof {

void hold_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) {
      continue;
    }
    // open() takes the lowest free number, which is `fd`. The placeholder is open for the wrong direction, so reading
    // or writing it fails.
    const int wrong = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    (void)!::open("/dev/null", wrong | O_CLOEXEC);
  }
}

}  // namespace gpuprof
