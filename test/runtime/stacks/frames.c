// Frames of all shapes, and functions that libc calls.
#include <alloca.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "target.h"

#define DEEP 2000

static volatile int unlikely;
static volatile long total;

FRAME void plain_3(void) {
  STACK_ENTER;
  stack_launch("plain");
  STACK_LEAVE;
}

FRAME void plain_2(void) {
  STACK_ENTER;
  plain_3();
  STACK_LEAVE;
}

FRAME void plain_1(void) {
  STACK_ENTER;
  plain_2();
  STACK_LEAVE;
}

FRAME int recursion(int left) {
  STACK_ENTER;
  int result = left;
  if (left > 1) {
    result += recursion(left - 1);
  } else {
    stack_launch("recursion");
  }
  STACK_LEAVE;
  return result;
}

FRAME void small_frame(void) {
  STACK_ENTER;
  stack_launch("variable_frames");
  STACK_LEAVE;
}

FRAME void with_alloca(int left) {
  STACK_ENTER;
  char* block = alloca((size_t)(left * 337 % 5000 + 1));
  stack_keep(block);
  if (left > 0) {
    with_alloca(left - 1);
  } else {
    small_frame();
  }
  STACK_LEAVE;
}

FRAME void with_array(int length) {
  STACK_ENTER;
  double block[length];
  stack_keep(block);
  with_alloca(20);
  STACK_LEAVE;
}

FRAME void big_frame(int left) {
  STACK_ENTER;
  char block[1 << 20];
  stack_keep(block);
  if (left > 0) {
    big_frame(left - 1);
  } else {
    stack_launch("big_frame");
  }
  STACK_LEAVE;
}

// Aligns its frame more than the ABI aligns the stack. The compiler then saves the address of the function's arguments.
FRAME void aligned(int left, int bytes) {
  STACK_ENTER;
  _Alignas(64) char block[192];
  char* more = alloca((size_t)bytes);
  stack_keep(block);
  stack_keep(more);
  if (left > 0) {
    aligned(left - 1, bytes + 24);
  } else {
    stack_launch("aligned");
  }
  STACK_LEAVE;
}

FRAME void aligned_fixed(void) {
  STACK_ENTER;
  _Alignas(128) char block[256];
  stack_keep(block);
  aligned(7, 40);
  STACK_LEAVE;
}

// This function has more arguments than there are argument registers, so its callers push the others.
FRAME void many_arguments(long a, long b, long c, long d, long e, long f, long g, long h, long i) {
  STACK_ENTER;
  if (a > 0) {
    many_arguments(a - 1, b + i, c, d, e, f, g, h, i);
  } else {
    total = b + c + d + e + f + g + h + i;
    stack_launch("many_arguments");
  }
  STACK_LEAVE;
}

__attribute__((cold)) FRAME void rarely(void) {
  STACK_ENTER;
  stack_launch("cold_part");
  STACK_LEAVE;
}

// The compiler may move the unlikely part of this function away. That part then has its own unwind description.
FRAME void cold_part(int a, int b) {
  STACK_ENTER;
  char block[100];
  stack_keep(block);
  if (__builtin_expect(unlikely != 0, 0)) {
    block[a] = (char)b;
    rarely();
    rarely();
  }
  block[b] = (char)a;
  STACK_LEAVE;
}

void frame_cases(void) {
  STACK_ENTER;
  plain_1();
  recursion(DEEP);
  with_array(333);
  big_frame(2);
  aligned_fixed();
  many_arguments(3, 2, 3, 4, 5, 6, 7, 8, 9);
  unlikely = 1;
  cold_part(1, 2);
  STACK_LEAVE;
}

static int launched;

FRAME int compare(const void* a, const void* b) {
  STACK_ENTER;
  if (!launched) {
    launched = 1;
    stack_launch("qsort");
  }
  STACK_LEAVE;
  return *(const int*)a - *(const int*)b;
}

FRAME int compare_key(const void* a, const void* b) {
  STACK_ENTER;
  stack_launch("bsearch");
  STACK_LEAVE;
  return *(const int*)a - *(const int*)b;
}

FRAME void visit(const void* node, VISIT order, int level) {
  (void)node, (void)level;
  STACK_ENTER;
  if (order == leaf) {
    stack_launch("twalk");
  }
  STACK_LEAVE;
}

static int order_of(const void* a, const void* b) {
  return *(const int*)a - *(const int*)b;
}

// A function that is selected when it is first called (an IFUNC).
FRAME void chosen(void) {
  STACK_ENTER;
  stack_launch("ifunc");
  STACK_LEAVE;
}

static void (*choose(void))(void) {
  return chosen;
}

void by_ifunc(void) __attribute__((ifunc("choose")));

void callback_cases(void) {
  STACK_ENTER;
  int values[] = {5, 3, 9, 1, 7, 2, 8};
  const int key = 1;
  const unsigned libc = stack_enter(STACK_OTHERS);
  qsort(values, sizeof(values) / sizeof(values[0]), sizeof(values[0]), compare);
  bsearch(&key, values, 1, sizeof(values[0]), compare_key);
  void* tree = NULL;
  tsearch(&values[3], &tree, order_of);
  twalk(tree, visit);
  stack_leave(libc);
  by_ifunc();
  STACK_LEAVE;
}
