// A function, and a source line in it.
#pragma once

#include <cstdint>
#include <string>

namespace gpuprof::symbolize {

struct SourceFrame {
  std::string name;   // demangled; empty if unknown
  std::string file;   // empty if unknown
  uint32_t line = 0;  // 0: unknown
};

}  // namespace gpuprof::symbolize
