// Stores GPU code to which samples refer. Callbacks copy modules, and the service thread sends the copies to the
// recorder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ipc/code_objects.h"

namespace gpuprof::injection {

// Forgets all modules, because a new recorder has received none.
void forget_code();

// Copies the code of a loaded module unless its key is known. Called in the callback for the load. Different code must
// have different keys. Makes no blocking system call.
void store_code(gpuprof_code_kind kind, uint64_t key, const void* bytes, size_t size);

// Sends the code stored since the last call. Waits for the recorder: call it only on a library thread.
void send_stored_code();

// Returns the module number of the code with this key. Returns 0 if the recorder will not get this code.
uint64_t module_of_code(uint64_t key);

}  // namespace gpuprof::injection
