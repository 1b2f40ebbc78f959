// What a reader says of a function of GPU code (Ask::code_function).
#pragma once

#include <cstdint>
#include <string>

#include "reader/message.h"

namespace gpuprof::reader {

struct CodeFunction {
  bool known = false;
  bool has_lines = false;
  std::string kernel;   // the kernel to which it belongs, the function itself if it is one; empty: unknown or several
  uint32_t symbol = 0;  // number in the symbol table of a cubin
  uint64_t begin = 0;   // offset in its section
  uint64_t bytes = 0;
  uint64_t offset = 0;  // offset in a zebin
};

void append_function(Message& to, const CodeFunction& function);
CodeFunction take_function(Message& from);

}  // namespace gpuprof::reader
