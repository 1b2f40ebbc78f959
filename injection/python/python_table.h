#pragma once

#include <cstddef>
#include <cstdint>

#include "python/python_memory.h"

namespace gpuprof::injection {

// Copies a location table (since 3.11) that is too long for a record. Omits the columns, which are its largest part;
// the format is the same. Returns the bytes written; 0: still too long, or not readable.
size_t copy_without_columns(const PythonMemory& memory, uint64_t from, uint64_t size, char* to, size_t capacity);

}  // namespace gpuprof::injection
