// A library of the loader target, built twice: the same functions at the same addresses, but with other frame sizes.
// Unwind data of one library is wrong for the other.
#include "target.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAMED(name) JOIN(name, LIBRARY)
#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)

using Callback = void(void* argument);

// The two builds of the library differ only in the frame size, in this code and in its unwind data.
extern "C" FRAME void NAMED(library_frame_)(Callback* callback, void* argument) {
  const unsigned depth = stack_enter(TEXT(NAMED(library_frame_)));
  char block[FRAME_BYTES];
  stack_keep(block);
  callback(argument);
  stack_leave(depth);
}

extern "C" FRAME void NAMED(library_middle_)(Callback* callback, void* argument) {
  const unsigned depth = stack_enter(TEXT(NAMED(library_middle_)));
  char block[2 * FRAME_BYTES];
  stack_keep(block);
  NAMED(library_frame_)(callback, argument);
  stack_leave(depth);
}

// Both builds of the library export this name.
extern "C" __attribute__((visibility("default"))) FRAME void library_call(Callback* callback, void* argument) {
  const unsigned depth = stack_enter("library_call");
  NAMED(library_middle_)(callback, argument);
  stack_leave(depth);
}

extern "C" __attribute__((constructor)) FRAME void NAMED(library_begin_)() {
  const unsigned others = stack_enter(STACK_OTHERS);
  const unsigned depth = stack_enter(TEXT(NAMED(library_begin_)));
  stack_launch(TEXT(NAMED(constructor_)));
  stack_leave(depth);
  stack_leave(others);
}

extern "C" __attribute__((destructor)) FRAME void NAMED(library_end_)() {
  const unsigned others = stack_enter(STACK_OTHERS);
  const unsigned depth = stack_enter(TEXT(NAMED(library_end_)));
  stack_launch(TEXT(NAMED(destructor_)));
  stack_leave(depth);
  stack_leave(others);
}
