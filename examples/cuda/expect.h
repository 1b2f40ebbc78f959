// Lines "expect KEY=VALUE" on stdout: what a profile of the program must say. test/runtime/matrix reads them.
#pragma once

#include <cstdio>

inline void expect(const char* key, long value) {
  std::printf("expect %s=%ld\n", key, value);
}
