/* Other code, with one kernel of the same name. */
#include "zebin.h"

KERNEL(add) {
  INSTRUCTION(NOP); /* line 5 */
}

KERNEL(scale) {
  INSTRUCTION(SYNC); /* line 9 */
  INSTRUCTION(ADD);
  INSTRUCTION(NOP);
}
