/* Code for an Intel GPU with source lines: what names_test.py makes a zebin of. */
#include "zebin.h"

KERNEL(scale) {
  INSTRUCTION(MOV); /* line 5 */
  INSTRUCTION(MUL);
  INSTRUCTION(NOP);
}

KERNEL(add) {
  INSTRUCTION(ADD); /* line 11 */
  INSTRUCTION(NOP);
}
