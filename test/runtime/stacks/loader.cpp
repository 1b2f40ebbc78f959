// Loads and unloads two libraries in a loop, so that each gets the address of the other.
//   stacks_loader LIBRARY LIBRARY ROUNDS PAUSE_MS LOADED_MS
// Waits PAUSE_MS before and after each unload, and LOADED_MS between a load and the first call.
// If STACKS_UNDUMPABLE is set, the process is not dumpable.
#include <dlfcn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "target.h"

extern "C" FRAME void called_by_library(void* argument) {
  const unsigned depth = stack_enter("called_by_library");
  stack_launch(static_cast<const char*>(argument));
  stack_leave(depth);
}

struct Pauses {
  int around_unloading_ms;
  int when_loaded_ms;
};

void pause_ms(int ms) {
  usleep(static_cast<useconds_t>(ms) * 1000);
}

extern "C" FRAME void* use_library(const char* path, const char* kernel, const Pauses& pauses) {
  const unsigned depth = stack_enter("use_library");
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* const found = library != nullptr ? dlsym(library, "library_call") : nullptr;
  if (found == nullptr) {
    std::fprintf(stderr, "stacks_loader: %s\n", dlerror());
    std::exit(1);
  }
  const auto call = reinterpret_cast<void (*)(void (*)(void*), void*)>(found);
  std::string name = kernel;
  pause_ms(pauses.when_loaded_ms);
  call(called_by_library, name.data());
  call(called_by_library, name.data());
  pause_ms(pauses.around_unloading_ms);
  dlclose(library);
  pause_ms(pauses.around_unloading_ms);
  stack_leave(depth);
  return found;
}

int main(int argc, char** argv) {
  const unsigned depth = stack_enter("main");
  const int rounds = argc == 6 ? std::atoi(argv[3]) : 0;
  if (rounds <= 0) {
    std::fputs("usage: stacks_loader LIBRARY LIBRARY ROUNDS PAUSE_MS LOADED_MS\n", stderr);
    return 2;
  }
  const Pauses pauses{std::atoi(argv[4]), std::atoi(argv[5])};
  if (std::getenv("STACKS_UNDUMPABLE") != nullptr) {
    prctl(PR_SET_DUMPABLE, 0);
  }
  int same = 0;
  for (int i = 0; i < rounds; ++i) {
    const void* first = use_library(argv[1], "in_library_a", pauses);
    const void* second = use_library(argv[2], "in_library_b", pauses);
    same += first == second ? 1 : 0;
  }
  stack_note("libraries_at_the_same_address", same);
  stack_leave(depth);
  return 0;
}
