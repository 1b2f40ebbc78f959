// A program with known stacks: for each kernel launch, it writes the calling functions to $STACKS_EXPECTED.
//   stacks_c_VARIANT [GROUP ...]
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "target.h"

static const struct {
  const char* name;
  void (*run)(void);
} kGroups[] = {
    {"processes", process_cases},  // must be first: a child cannot use CUDA once its parent has
    {"frames", frame_cases},      {"callbacks", callback_cases}, {"jumps", jump_cases}, {"signals", signal_cases},
    {"contexts", context_cases},  {"threads", thread_cases},     {"pages", page_cases}, {"jit", jit_cases},
    {"assembly", assembly_cases},
};

static int wanted(const char* group, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], group) == 0) {
      return 1;
    }
  }
  return argc < 2;
}

int main(int argc, char** argv) {
  STACK_ENTER;
  for (size_t i = 0; i < sizeof(kGroups) / sizeof(kGroups[0]); ++i) {
    if (wanted(kGroups[i].name, argc, argv)) {
      kGroups[i].run();
    }
  }
  STACK_LEAVE;
  return 0;
}
