// Lines of Python code, from the tables that CPython keeps in its code objects.
#pragma once

#include <cstdint>
#include <span>

namespace gpuprof::symbolize {

// Of a code object, as a CODE record has it.
struct PythonLines {
  uint32_t version = 0;  // PY_VERSION_HEX; says the format of the table
  uint32_t first_line = 0;
  std::span<const uint8_t> table;  // co_lnotab (3.9), co_linetable (3.10 on); may hold anything
};

// The line of the instruction at `offset` (bytes; UINT32_MAX: before the first one). The first line where there is no
// table; 0: the instruction has none, or the table ends before it.
uint32_t python_line(const PythonLines& lines, uint32_t offset);

}  // namespace gpuprof::symbolize
