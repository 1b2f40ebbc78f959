// Where each version of CPython keeps what a walk needs.
#pragma once

#include <cstdint>

#include "wire/stack.h"

namespace gpuprof::injection {

struct PythonLayout {
  gpuprof_python_layout wire;
  uint16_t thread_ident;  // of pthread_self() in the thread state: only a walk inside of the process uses it
};

// The layout of the interpreter of this version (PY_VERSION_HEX), whose _PyRuntime is at `runtime` (needed from 3.13
// on, which describes itself there). Fills in the offsets. Null, or why this interpreter is not followed.
const char* layout_of_python(uint32_t version, const void* runtime, PythonLayout* layout);

}  // namespace gpuprof::injection
