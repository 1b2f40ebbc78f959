#pragma once

#include <cstddef>
#include <cstdint>

#include "python/python_memory.h"

namespace gpuprof::injection {

// Copies a location table (since 3.11) in the same format without columns, its largest part: for tables too long for a
// record. Returns the bytes written; 0: still too long, or not readable.
size_t copy_without_columns(const PythonMemory& memory, uint64_t from, uint64_t size, char* to, size_t capacity);

}  // namespace gpuprof::injection
