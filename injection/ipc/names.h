#pragma once

#include "wire/wire.h"

namespace gpuprof::injection {

// Returns a text's id, and emits a NAME record at its first use. Each source has its own ids. Returns 0 on failure,
// which is counted as a loss.
uint32_t intern(gpuprof_segment* segment, const char* text, size_t length);

// Returns how many bytes of `text` are sent. If the text is too long, these are as many complete UTF-8 characters as
// fit before the "..." that is added.
size_t cut_length(const char* text, size_t length);

// Forgets all texts, for a new source. No other thread may be in intern().
void reset_names();

}  // namespace gpuprof::injection
