// Where each version of CPython keeps what a walk needs.
#pragma once

#include <cstdint>

#include "wire/stack.h"

namespace gpuprof::injection {

struct PythonLayout {
  gpuprof_python_layout wire;
  // What only a walk inside of the process uses. GPUPROF_PYTHON_NONE: this version does not have it.
  uint16_t thread_ident;     // of pthread_self() in the thread state
  uint16_t frame_owner;      // a byte, 1 in the frame of a generator
  uint16_t first_traceable;  // in the code object: a frame before this instruction has not begun (int, 2-byte units)
  uint16_t code_version;     // in the code object: differs between code objects, or 0
};

// The layout of the interpreter of this version (PY_VERSION_HEX), whose _PyRuntime is at `runtime` (needed from 3.13
// on, which describes itself there). Fills in the offsets. Null, or why this interpreter is not followed.
const char* layout_of_python(uint32_t version, const void* runtime, PythonLayout* layout);

}  // namespace gpuprof::injection
