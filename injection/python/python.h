// Finds and walks the Python frames of the calling thread, whether it holds the GIL or not: CPython 3.9 to 3.14.
#pragma once

#include <cstdint>

#include "wire/wire.h"

namespace gpuprof::injection {

// Searches for an interpreter until one is found. Cheap if the process has none. Reports it to a connected recorder.
// May take the loader's lock, so never call it at a launch.
void find_python();

// Stops the search forever: at the end of the process, the holder of the loader's lock may wait for this thread.
void stop_finding_python();

// Returns the found layout, for the handshake. Version 0: no interpreter was found.
gpuprof_python_layout python_layout();

// Returns this thread's PyThreadState. Null: no Python, or a thread that never ran Python.
const void* python_thread();

struct PythonFrame {
  uint64_t word;  // GPUPROF_WORD_OF_PYTHON
  // Nonzero only in the outermost frame of a run: an address within the C frame of the run's evaluation loop. 1: that
  // address is unknown, so the run belongs to the next native frame in eval_begin .. eval_end.
  uint64_t boundary;
};

struct PythonWalk {
  PythonFrame* frames;  // array of `capacity` frames, innermost first
  uint32_t capacity;
  uint32_t count;
  uint32_t truncated;  // 1: more frames than fit, or memory with invalid contents
};

// Walks the frames of `thread` (from python_thread()); emits CODE records for new code objects. `careful`: a signal may
// have interrupted a change in the interpreter, so reads must not fault.
void walk_python(gpuprof_segment* segment, const void* thread, bool careful, PythonWalk* walk);

// Prepares for a new connection or a forked child, whose recorder has received no code objects.
void reset_python();

}  // namespace gpuprof::injection
