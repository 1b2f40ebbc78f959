// The code that samples are of: modules as the target loads them, kept until our own thread hands them over.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ipc/code_objects.h"

namespace gpuprof::injection {

// Nothing is known of any module: there is a new recorder to tell.
void forget_code();

// In the callback for a module that has been loaded: copies its code, unless that of this key is known. Other code must
// have another key. No system call that could wait for anybody.
void keep_code(gpuprof_code_kind kind, uint64_t key, const void* bytes, size_t size);

// Hands over what was kept since the last call. Waits for the recorder: on our own thread only.
void hand_over_kept_code();

// Our number for the module whose code has this key; 0: the recorder will not have it.
uint64_t module_of_code(uint64_t key);

}  // namespace gpuprof::injection
