// NVIDIA's driver, as its files below /proc say.
#pragma once

#include <string>

namespace gpuprof {

// "580.65.06", of the kernel module that is loaded; empty without one. `root` is "" but in tests.
std::string nvidia_driver_version(const std::string& root = {});

}  // namespace gpuprof
