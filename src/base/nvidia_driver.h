// Reads the version of NVIDIA's driver from /proc.
#pragma once

#include <string>

namespace gpuprof {

// Returns the loaded kernel module's version ("580.65.06"), or an empty string. `root` is a prefix of /proc, for tests.
std::string nvidia_driver_version(const std::string& root = {});

}  // namespace gpuprof
