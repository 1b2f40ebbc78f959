#pragma once

#include <cstddef>
#include <cstdint>

#include "python/python_memory.h"

namespace gpuprof::injection {

// Copies a location table (since Python 3.11) that is too long for a record. Keeps the format, but omits the columns,
// which are its largest part. Returns the number of bytes written, or 0 if the table is still too long or not readable.
size_t copy_without_columns(const PythonMemory& memory, uint64_t from, uint64_t size, char* to, size_t capacity);

}  // namespace gpuprof::injection
