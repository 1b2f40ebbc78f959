// Prints lines "expect KEY=VALUE", which say what a profile of the program must contain. test/runtime/matrix reads
// them.
#pragma once

#include <cstdio>

inline void expect(const char* key, long value) {
  std::printf("expect %s=%ld\n", key, value);
}
