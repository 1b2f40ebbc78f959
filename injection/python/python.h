// Finds and walks the Python frames of the calling thread (CPython 3.9 to 3.14). The thread need not hold the GIL.
#pragma once

#include <cstdint>

#include "base/thread_state.h"
#include "wire/wire.h"

namespace gpuprof::injection {

// Searches for an interpreter, unless one was found. Cheap if the process has none. Reports the interpreter to a
// connected recorder. May take the loader's lock, so never call it at a launch.
void find_python();

// Makes find_python() do nothing from now on. Called at the end of the process, when the thread that holds the loader's
// lock may wait for this one.
void stop_finding_python();

// Returns the found layout, for the handshake. Version 0: no interpreter was found.
gpuprof_python_layout python_layout();

// Returns this thread's PyThreadState. Returns null without an interpreter, or if the thread has never run Python.
const void* python_thread();

struct PythonFrame {
  uint64_t word;  // GPUPROF_WORD_OF_PYTHON
  // Nonzero only in the outermost frame of a run. It is an address within the C frame of the run's evaluation loop. 1
  // means that this address is unknown: the run then belongs to the next native frame whose pc is in eval_begin ..
  // eval_end.
  uint64_t boundary;
};

class CarefulPieces;  // python_memory.h
struct NearCodes;     // python_code.h

struct PythonWalk {
  PythonFrame* frames;  // array of `capacity` frames, innermost first
  uint32_t capacity;
  uint32_t count;
  uint32_t truncated;               // 1: there are more frames than fit, or memory has invalid contents
  NearCodes* near;                  // memory of earlier walks, initially zero; no other walk may use it meanwhile
  CarefulPieces* pieces = nullptr;  // makes a careful walk cheaper; null: not used
};

// Walks the frames of `thread` (from python_thread()), and emits CODE records for new code objects. `state` is that of
// the calling thread. With `careful`, a signal may have interrupted a change in the interpreter, so no read may fault.
void walk_python(gpuprof_segment* segment, ThreadState& state, const void* thread, bool careful, PythonWalk* walk);

// Returns whether a signal handler may call python_thread(). It may not if the interpreter's thread-local memory is
// allocated at the first use. Call it on a thread that has never run Python. Takes the loader's
// lock, so call it only in a module scan.
bool is_python_safe_in_handlers();

// Forgets which code objects were sent, for a new connection or a forked child, whose recorder has received none.
void reset_python();

}  // namespace gpuprof::injection
