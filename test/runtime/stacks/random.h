// Functions of many frame shapes that call each other at random. Included by the program and by two libraries, each of
// which gives a PREFIX for the names of its own.
#pragma once

#include <stdint.h>

struct Walk {
  uint64_t state;  // of the random numbers
  int left;        // calls before the launch
  const char* kernel;
};

typedef void Step(struct Walk* walk);

enum { kStepsOfLibrary = 16 };

// Calls any function of all, or launches.
void random_next(struct Walk* walk);
uint32_t random_number(struct Walk* walk, uint32_t below);

void random_program_steps(Step** steps);
void random_library_a_steps(Step** steps);
void random_library_b_steps(Step** steps);
