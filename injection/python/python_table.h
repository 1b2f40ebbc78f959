// Line tables that are too long for a record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "python/python_memory.h"

namespace gpuprof::injection {

// The location table (3.11 on) of `size` bytes at `from` without its columns, which take most of it, in the same
// format. Returns the bytes written; 0 where it is still too long, or can not be read.
size_t copy_without_columns(const PythonMemory& memory, uint64_t from, uint64_t size, char* to, size_t capacity);

}  // namespace gpuprof::injection
