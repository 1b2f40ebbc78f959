// The functions of random.h, compiled three times with different flags and PREFIX: in the program and in two libraries.
#include <alloca.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "target.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAMED(name) JOIN(PREFIX, name)

#if defined(__GNUC__) && !defined(__clang__)
#define WITH_FRAME_POINTER __attribute__((optimize("no-omit-frame-pointer")))
#else
#define WITH_FRAME_POINTER
#endif

static void* volatile sink;

#define SHAPE_FIXED(name, attributes, bytes)              \
  attributes FRAME void NAMED(name)(struct Walk * walk) { \
    STACK_ENTER;                                          \
    char block[bytes];                                    \
    stack_keep(block);                                    \
    random_next(walk);                                    \
    STACK_LEAVE;                                          \
  }

#define SHAPE_ALIGNED(name, alignment, bytes)    \
  FRAME void NAMED(name)(struct Walk * walk) {   \
    STACK_ENTER;                                 \
    _Alignas(alignment) char block[bytes];       \
    char* more = alloca((size_t)walk->left + 1); \
    stack_keep(block);                           \
    stack_keep(more);                            \
    random_next(walk);                           \
    STACK_LEAVE;                                 \
  }

SHAPE_FIXED(small, , 8)
SHAPE_FIXED(middle, , 333)
SHAPE_FIXED(large, , 5000)
SHAPE_FIXED(huge, , 40000)
SHAPE_FIXED(small_framed, WITH_FRAME_POINTER, 16)
SHAPE_FIXED(large_framed, WITH_FRAME_POINTER, 3000)
SHAPE_ALIGNED(aligned_32, 32, 32)
SHAPE_ALIGNED(aligned_64, 64, 200)
SHAPE_ALIGNED(aligned_256, 256, 512)

FRAME void NAMED(plain)(struct Walk* walk) {
  STACK_ENTER;
  random_next(walk);
  STACK_LEAVE;
}

FRAME void NAMED(dynamic)(struct Walk* walk) {
  STACK_ENTER;
  char* block = alloca(random_number(walk, 2000) + 1);
  stack_keep(block);
  random_next(walk);
  STACK_LEAVE;
}

FRAME void NAMED(array)(struct Walk* walk) {
  STACK_ENTER;
  double block[random_number(walk, 100) + 1];
  stack_keep(block);
  random_next(walk);
  STACK_LEAVE;
}

// Keeps many values across the call, so that callee-saved registers are pushed.
FRAME void NAMED(registers)(struct Walk* walk) {
  STACK_ENTER;
  const uint64_t a = walk->state * 3;
  const uint64_t b = walk->state * 5;
  const uint64_t c = walk->state * 7;
  const uint64_t d = walk->state * 11;
  const uint64_t e = walk->state * 13;
  random_next(walk);
  sink = (void*)(uintptr_t)(a ^ b << 1 ^ c << 2 ^ d << 3 ^ e << 4 ^ walk->state);
  STACK_LEAVE;
}

FRAME int NAMED(recursion)(struct Walk* walk, int more) {
  STACK_ENTER;
  int result = more;
  if (more > 0) {
    result += NAMED(recursion)(walk, more - 1);
  } else {
    random_next(walk);
  }
  STACK_LEAVE;
  return result;
}

FRAME void NAMED(recursive)(struct Walk* walk) {
  STACK_ENTER;
  sink = (void*)(intptr_t)NAMED(recursion)(walk, (int)random_number(walk, 4));
  STACK_LEAVE;
}

static __thread struct Walk* sorting;

FRAME int NAMED(compare)(const void* a, const void* b) {
  STACK_ENTER;
  if (sorting != NULL) {
    struct Walk* walk = sorting;
    sorting = NULL;
    random_next(walk);
  }
  STACK_LEAVE;
  return *(const int*)a - *(const int*)b;
}

FRAME void NAMED(sort)(struct Walk* walk) {
  STACK_ENTER;
  int values[] = {3, 1, 2};
  sorting = walk;
  const unsigned libc = stack_enter(STACK_OTHERS);
  qsort(values, 3, sizeof(values[0]), NAMED(compare));
  stack_leave(libc);
  STACK_LEAVE;
}

void NAMED(steps)(Step** steps) {
  Step* const all[kStepsOfLibrary] = {NAMED(small),        NAMED(middle),       NAMED(large),      NAMED(huge),
                                      NAMED(small_framed), NAMED(large_framed), NAMED(aligned_32), NAMED(aligned_64),
                                      NAMED(aligned_256),  NAMED(plain),        NAMED(dynamic),    NAMED(array),
                                      NAMED(registers),    NAMED(recursive),    NAMED(sort),       NAMED(plain)};
  memcpy(steps, all, sizeof(all));
}
