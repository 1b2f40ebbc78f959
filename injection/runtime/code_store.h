// Stores GPU code that samples refer to: callbacks copy modules, and the service thread sends them to the recorder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ipc/code_objects.h"

namespace gpuprof::injection {

// Forgets all modules: a new recorder has received none.
void forget_code();

// Copies a loaded module's code unless its key is known; called in the callback. Different code must have different
// keys. Makes no blocking system call.
void store_code(gpuprof_code_kind kind, uint64_t key, const void* bytes, size_t size);

// Sends the code stored since the last call. Waits for the recorder: call it only on a library thread.
void send_stored_code();

// Returns the module number of the code with this key. 0: the recorder does not get this code.
uint64_t module_of_code(uint64_t key);

}  // namespace gpuprof::injection
