// The code that samples are of: modules as the target loads them, and their way to the recorder.
#pragma once

#include <cstdint>

#include "cupti/api/cupti_api.h"

namespace gpuprof::injection::cupti {

// Nothing is known of any module: there is a new recorder to tell.
void forget_code();

// In the callback for a module that has been loaded: copies its code, which is there for that long only. No system call
// that could wait for anybody.
void keep_code(const CUpti_ModuleResourceData& module);

// Hands over what was kept since the last call. Waits for the recorder: on our own thread only.
void hand_over_kept_code();

// Our number for the module whose code has this CRC (cuptiGetCubinCrc); 0: the recorder will not have it.
uint64_t module_of_code(uint64_t crc);

}  // namespace gpuprof::injection::cupti
