#include "base/nvidia_driver.h"

#include <sstream>

#include "base/files/file.h"

namespace gpuprof {

// Reads the version from "NVRM version: NVIDIA UNIX ... Kernel Module  580.65.06  Release Build ...".
std::string nvidia_driver_version(const std::string& root) {
  std::istringstream file(read_text(root + "/proc/driver/nvidia/version", 4096));
  for (std::string word; file >> word;) {
    if (word.front() != '.' && word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos) {
      return word;
    }
  }
  return {};
}

}  // namespace gpuprof
