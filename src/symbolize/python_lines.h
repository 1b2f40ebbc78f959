// Finds lines of Python code in the tables of CPython's code objects.
#pragma once

#include <cstdint>
#include <span>

namespace gpuprof::symbolize {

// The line data of a code object, as in a CODE record.
struct PythonLines {
  uint32_t version = 0;  // PY_VERSION_HEX, which determines the format of the table
  uint32_t first_line = 0;
  // co_lnotab in 3.9, co_linetable in 3.10 and later. It may hold any bytes.
  std::span<const uint8_t> table;
};

// Returns the line of the instruction at byte `offset` of the code. The offset UINT32_MAX means before the first
// instruction. Without a table, returns the first line of the code object. Returns 0 if the instruction has no line,
// or if the table ends before it.
uint32_t python_line(const PythonLines& lines, uint32_t offset);

}  // namespace gpuprof::symbolize
