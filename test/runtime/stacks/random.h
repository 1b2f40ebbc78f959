// Functions of many frame shapes that call each other at random. The program and two libraries include this file, each
// with its own PREFIX for its names.
#pragma once

#include <stdint.h>

struct Walk {
  uint64_t state;  // state of the random number generator
  int left;        // calls that remain before the launch
  const char* kernel;
};

typedef void Step(struct Walk* walk);

enum { kStepsOfLibrary = 16 };

// Calls one of the functions at random, or launches if no calls are left.
void random_next(struct Walk* walk);
uint32_t random_number(struct Walk* walk, uint32_t below);

void random_program_steps(Step** steps);
void random_library_a_steps(Step** steps);
void random_library_b_steps(Step** steps);
