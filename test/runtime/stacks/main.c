// A program whose stacks are known: each launch of a kernel says in $STACKS_EXPECTED which functions it came from.
//
//   stacks_c_VARIANT [GROUP ...]
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "target.h"

static const struct {
  const char* name;
  void (*run)(void);
} kGroups[] = {
    {"processes", process_cases},  // first: a child can not use CUDA once its parent has
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
