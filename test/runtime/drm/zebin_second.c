/* Other code, of which a kernel has the same name. */
#include "zebin.h"

KERNEL(add) {
  INSTRUCTION(NOP); /* line 5 */
}

KERNEL(scale) {
  INSTRUCTION(SYNC); /* line 9 */
  INSTRUCTION(ADD);
  INSTRUCTION(NOP);
}
