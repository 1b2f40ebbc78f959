// Random stacks: each launch has its own kernel name, and its calling functions go to $STACKS_EXPECTED.
//   stacks_random SEED STACKS DEPTH [LAUNCHES]      LAUNCHES of each stack, one after the other
#include "random.h"

#include <stdio.h>
#include <stdlib.h>

#include "target.h"

static Step* steps[3 * kStepsOfLibrary];
static int launches = 1;

uint32_t random_number(struct Walk* walk, uint32_t below) {
  walk->state = walk->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((walk->state >> 33) % below);
}

FRAME void random_launch(struct Walk* walk) {
  STACK_ENTER;
  for (int i = 0; i < launches; ++i) {
    stack_launch(walk->kernel);
  }
  STACK_LEAVE;
}

FRAME void random_next(struct Walk* walk) {
  STACK_ENTER;
  if (walk->left-- > 0) {
    steps[random_number(walk, sizeof(steps) / sizeof(steps[0]))](walk);
  } else {
    random_launch(walk);
  }
  STACK_LEAVE;
}

int main(int argc, char** argv) {
  STACK_ENTER;
  const int seed = argc > 3 ? atoi(argv[1]) : 0;
  const int stacks = argc > 3 ? atoi(argv[2]) : 0;
  const int depth = argc > 3 ? atoi(argv[3]) : 0;
  launches = argc > 4 ? atoi(argv[4]) : 1;
  if (stacks < 1 || depth < 1) {
    fputs("usage: stacks_random SEED STACKS DEPTH [LAUNCHES]\n", stderr);
    return 2;
  }
  random_program_steps(steps);
  random_library_a_steps(steps + kStepsOfLibrary);
  random_library_b_steps(steps + 2 * kStepsOfLibrary);
  struct Walk walk = {(uint64_t)seed, 0, NULL};
  for (int i = 0; i < stacks; ++i) {
    char kernel[32];
    snprintf(kernel, sizeof(kernel), "random_%d", i);
    walk.kernel = kernel;
    walk.left = (int)random_number(&walk, (uint32_t)depth) + 1;
    random_next(&walk);
  }
  STACK_LEAVE;
  return 0;
}
