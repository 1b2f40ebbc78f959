/* Code for an Intel GPU with source lines; names_test.py makes a zebin from it. */
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
