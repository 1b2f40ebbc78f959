// Reads the version of NVIDIA's driver from /proc.
#pragma once

#include <string>

namespace gpuprof {

// Returns the version of the loaded kernel module, such as "580.65.06". Returns an empty string if it is not loaded.
// Tests put `root` before /proc.
std::string nvidia_driver_version(const std::string& root = {});

}  // namespace gpuprof
