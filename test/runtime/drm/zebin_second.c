/* Code that differs from zebin_first.c, but has one kernel with the same name. */
#include "zebin.h"

KERNEL(add) {
  INSTRUCTION(NOP); /* line 5 */
}

KERNEL(scale) {
  INSTRUCTION(SYNC); /* line 9 */
  INSTRUCTION(ADD);
  INSTRUCTION(NOP);
}
