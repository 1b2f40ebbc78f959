// A program that keeps its loader busy:
//   busy_loader DRIVER LIBRARY [FILE PROGRAM]
// opens DRIVER, then LIBRARY again and again, for 20 seconds each time. Prints "ready" when LIBRARY is being opened, so
// that the loader is locked. A line on stdin ends it with "well". Once FILE exists, another thread executes PROGRAM.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

void* open_or_exit(const char* file) {
  void* handle = dlopen(file, RTLD_NOW);
  if (handle == nullptr) {
    std::fprintf(stderr, "busy_loader: %s\n", dlerror());
    std::exit(1);
  }
  return handle;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 5) {
    return 2;
  }
  open_or_exit(argv[1]);
  setenv("SLOW_LIBRARY_MS", "20000", 1);
  int begun[2];
  if (pipe2(begun, O_CLOEXEC | O_NONBLOCK) != 0 || fcntl(begun[0], F_SETFL, 0) != 0) {
    return 2;
  }
  setenv("SLOW_LIBRARY_FD", std::to_string(begun[1]).c_str(), 1);
  std::thread([argv] {
    for (;;) {
      dlclose(open_or_exit(argv[2]));
    }
  }).detach();
  if (argc == 5) {
    std::thread([argv] {
      while (access(argv[3], F_OK) != 0) {
        usleep(10000);
      }
      execl(argv[4], argv[4], "60", nullptr);
      _exit(1);
    }).detach();
  }
  char byte = 0;
  if (read(begun[0], &byte, 1) != 1) {
    return 2;
  }
  std::puts("ready");
  std::fflush(stdout);
  const bool told = read(0, &byte, 1) == 1;
  (void)!write(1, "well\n", 5);
  _exit(told ? 0 : 1);
}
