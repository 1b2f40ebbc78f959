// The Python frames of the calling thread: CPython 3.9 to 3.14, with or without the GIL held.
#pragma once

#include <cstdint>

#include "wire/wire.h"

namespace gpuprof::injection {

// Looks for an interpreter in this process, unless one has been found; cheap when there is none. Not from a launch:
// it may take the loader's lock. A newly found one is told to the recorder when connected.
void find_python();

// For good: the process ends, and who holds the loader's lock may wait for us.
void stop_finding_python();

// What has been found; version 0: none. For the handshake.
gpuprof_python_layout python_layout();

// This thread's PyThreadState, or null: no Python, or a thread that never ran any.
const void* python_thread();

struct PythonFrame {
  uint64_t word;      // GPUPROF_WORD_OF_PYTHON
  uint64_t boundary;  // 0, but for the last (outermost) frame of a run: an address within the C frame of its evaluation
                      // loop, or 1 where no address is known (pair it with the next frame in eval_begin .. eval_end)
};

struct PythonWalk {
  PythonFrame* frames;  // `capacity` of them, innermost first
  uint32_t capacity;
  uint32_t count;
  uint32_t truncated;  // 1: more frames than fit, or memory that did not look as it should
};

// `thread`: of python_thread(). `careful`: a signal may have interrupted the interpreter in the middle of a change, so
// memory is read in a way that can not fault. Emits CODE records for code objects not told yet.
void walk_python(gpuprof_segment* segment, const void* thread, bool careful, PythonWalk* walk);

// A new connection, or a forked child: the recorder knows no code objects yet.
void reset_python();

}  // namespace gpuprof::injection
