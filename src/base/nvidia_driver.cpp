#include "base/nvidia_driver.h"

#include <fstream>

namespace gpuprof {

// Reads the version from "NVRM version: NVIDIA UNIX ... Kernel Module  580.65.06  Release Build ...".
std::string nvidia_driver_version(const std::string& root) {
  std::ifstream file(root + "/proc/driver/nvidia/version");
  for (std::string word; file >> word;) {
    if (word.front() != '.' && word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos) {
      return word;
    }
  }
  return {};
}

}  // namespace gpuprof
