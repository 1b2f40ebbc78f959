// Finds lines of Python code in the tables of CPython's code objects.
#pragma once

#include <cstdint>
#include <span>

namespace gpuprof::symbolize {

// The line data of a code object, as in a CODE record.
struct PythonLines {
  uint32_t version = 0;  // PY_VERSION_HEX, which determines the format of the table
  uint32_t first_line = 0;
  std::span<const uint8_t> table;  // co_lnotab (3.9), co_linetable (3.10 and later); may hold any bytes
};

// Returns the line of the instruction at `offset` (bytes; UINT32_MAX: before the first instruction). Without a table,
// returns the first line. 0: the instruction has no line, or the table ends before it.
uint32_t python_line(const PythonLines& lines, uint32_t offset);

}  // namespace gpuprof::symbolize
